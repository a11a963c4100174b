"""A language model of one's own as a rung of langladder."""
