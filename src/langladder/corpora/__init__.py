"""Corpora that the project generates itself."""
