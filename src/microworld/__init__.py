"""A generator of text that knows the exact probability of each word: stories of a few lines, with their Esperanto.

It imports neither langladder nor anything else of the project: README.md beside this file says what it draws.
`python -m microworld draw --help` shows how to draw some.
"""
