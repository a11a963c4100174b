"""Batches over memory-mapped Arrow, each a pure function of (seed, step)."""
