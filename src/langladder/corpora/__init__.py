"""Corpora that the project itself holds."""
