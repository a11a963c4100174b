"""Counting kernels: co-occurrence, term-document and n-gram counts."""
