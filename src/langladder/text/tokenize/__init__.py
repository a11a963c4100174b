"""Tokenizers: trained, applied, taken from elsewhere."""
