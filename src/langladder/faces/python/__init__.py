"""The Python interface, `import langladder as ll`: `ll.load`, `ll.train`, and the answers of models as values."""
