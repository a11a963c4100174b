"""Translators, and other models with the same decoding interface."""
