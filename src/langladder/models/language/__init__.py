"""Language models: what all share, and one architecture a file; those that count are in `models.ngrams`."""
