"""Compiled loops (Numba). Each file names the plain form that it is tested equal to, and what it is worth."""
