"""langladder: the history of language models, rung by rung, on one corpus, scored in the same units."""
