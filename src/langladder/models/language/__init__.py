"""Language models: the common bases, and one file per architecture. Counted models are in `models.ngrams`."""
