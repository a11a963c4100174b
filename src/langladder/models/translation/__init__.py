"""Translators, and what decodes as they do."""
