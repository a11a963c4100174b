"""The productions of microworld's grammar, one module per subject. Importing this package registers them all."""

from langladder.corpora.rules import clauses, reviews, statements

__all__ = ["clauses", "reviews", "statements"]
