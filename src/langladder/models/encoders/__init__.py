"""Encoders, which read a text in both directions."""
