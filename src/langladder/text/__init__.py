"""Cleaning, readers, splitting, validation, tokenizers and vocabularies: from files to token ids."""
