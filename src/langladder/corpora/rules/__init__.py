"""The productions of microworld's grammar, one module a subject. Importing this package registers them all."""

from langladder.corpora.rules import clauses, comparison, geography, nouns, opinion, pairs, sentence, verbs

from langladder.corpora.rules import asked, entities, reviews, tagged  # isort: skip - of labelled corpora

__all__ = ["clauses", "comparison", "geography", "nouns", "opinion", "pairs", "sentence", "verbs"]
__all__ += ["asked", "entities", "reviews", "tagged"]
