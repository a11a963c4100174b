"""Taggers, one file each: a tag for each word of a sentence (see `langladder.models.tagger`)."""
