"""Instructions about microworld's stories, and their gold judge.

phrasings.tsv     how each kind is worded
facts.tsv         the facts that are asked for in one word
requests.py       what is drawn for each kind
answers.py        how answers are judged
demonstrations.py dialogues with right answers, in splits
judge.py          the gold judge of any dialogue, and a labeller who makes errors
"""
