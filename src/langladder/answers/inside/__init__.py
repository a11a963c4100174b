"""Inside: the computation of one answer of one model, step by step, with the numbers of each step.

Each function uses the model's own code (its layers, its tables), so the last step's numbers equal the model's answer.
"""
