"""Classifiers, from the commonest label to a network that grows from a GPT."""
