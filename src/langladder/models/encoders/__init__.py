"""Encoders, which read a text from both sides."""
