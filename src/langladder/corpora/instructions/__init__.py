"""Instructions of microworld and their gold judge, one module per subject. Importing this package registers all
kinds."""

from langladder.corpora.instructions import categories, clauses, facts, phrases

__all__ = ["categories", "clauses", "facts", "phrases"]
