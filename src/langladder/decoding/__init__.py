"""Greedy, sampling and beam search."""
