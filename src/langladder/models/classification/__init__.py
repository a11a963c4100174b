"""Classifiers, from the commonest label to a network that starts from a GPT."""
