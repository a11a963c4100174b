"""Compiled loops (Numba). Tests compare each with a plain implementation, which its file names."""
