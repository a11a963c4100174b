"""The library's own face, `import langladder as ll`: `ll.load`, `ll.train`, and models' answers as values."""
