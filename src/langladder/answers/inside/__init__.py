"""Inside: what one model computes on the way to one answer, step by step, with the numbers of each step.

Each function asks the model's own code (its layers, its tables) and returns the last step's numbers as the model's own
answer has them.
"""
