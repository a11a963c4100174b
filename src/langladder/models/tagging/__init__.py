"""Taggers, from counts to a network that grows from a BERT."""
