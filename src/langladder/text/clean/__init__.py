"""Cleaning: from raw rows to clean ones, in splits, with a report."""
