"""Instructions of microworld and their gold judge, one module a subject. Importing this package registers all kinds."""

from langladder.corpora.instructions import classes, clauses, facts, phrases

__all__ = ["classes", "clauses", "facts", "phrases"]
