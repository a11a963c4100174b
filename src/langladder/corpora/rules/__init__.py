"""The productions of microworld's grammar, one module a subject. Importing this package registers them all."""

from langladder.corpora.rules import clauses, comparison, geography, nouns, opinion, pairs, sentence, verbs

__all__ = ["clauses", "comparison", "geography", "nouns", "opinion", "pairs", "sentence", "verbs"]
