"""Files of text, however they come, read into tables."""
