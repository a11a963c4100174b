"""Claims on classifiers and taggers."""
