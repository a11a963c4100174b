"""Compiled loops (Numba): fast forms of what other folders say plainly, and tested equal to it."""
