"""Texts with labels, tags, questions and answers, instructions."""
