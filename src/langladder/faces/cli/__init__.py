"""The command `langladder`: questions to word vectors and models, one module a command (click and rich).

The modules import what takes time inside their functions, so that `langladder --help` answers at once and nothing
loads torch before a model is read.
"""
