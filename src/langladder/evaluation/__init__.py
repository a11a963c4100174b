"""One scorer a task: perplexity, BLEU, analogy, similarity."""
