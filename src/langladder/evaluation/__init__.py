"""One scorer per task: perplexity, BLEU, analogy, similarity."""
