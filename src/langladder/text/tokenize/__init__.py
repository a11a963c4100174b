"""Tokenizers: trained, applied, imported."""
