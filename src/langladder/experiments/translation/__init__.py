"""Claims on translators."""
