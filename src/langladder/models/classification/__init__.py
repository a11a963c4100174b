"""Classifiers, from the most frequent label to a network that starts from a GPT."""
