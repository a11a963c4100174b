"""Readers, which answer questions about paragraphs."""
