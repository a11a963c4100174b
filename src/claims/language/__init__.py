"""Claims on language models."""
