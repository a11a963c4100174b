"""microworld's documents: a subject, a mood, recurring people, facts that stay true, and exact probabilities.

    grammar.py      one derivation, its probability in each latent state; drawing and reading
    memory.py       a reader's memory: what was said so far
    language.py     wordings in two languages, tilts by subject and mood
    words.py        the words of lines: nouns, verbs, feelings, clauses
    cast.py         people, facts about them, their pet
    lines.py        the kinds of line, questions, lists
    process.py      documents: drawing, reading, exact log-probabilities
    floors.py       the value of context
    next_words.py   the true distributions of the next and of a hidden word
    writing.py      the corpus on disk

docs/microworld.md describes the process on two pages.
"""
