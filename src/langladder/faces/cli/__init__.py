"""The command `langladder`: questions to word vectors and models, one module for each command (click and rich).

The modules import slow libraries inside their functions, so that `langladder --help` answers at once and nothing
loads torch before a model is read.
"""
