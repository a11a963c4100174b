"""microworld's documents: a subject, a mood, a cast that is mentioned again, facts that stay true, exact probabilities.

    grammar.py      one derivation, its probability in each latent state; drawing and reading
    memory.py       what was said so far
    language.py     wordings in two languages, tilts by subject and mood
    words.py        what lines are filled with: nouns, verbs, feelings, clauses
    cast.py         people, what is said of them, their animal
    lines.py        the kinds of line, questions, lists
    process.py      documents: drawing, reading, exact log-probabilities
    floors.py       what context is worth
    next_words.py   the true distributions of the next and of a hidden word
    writing.py      the corpus on disk

docs/microworld.md has the process in two pages.
"""
