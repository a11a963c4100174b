"""Taggers, from counts to a network that starts from a BERT."""
