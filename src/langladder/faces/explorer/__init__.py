"""The explorer: pages that ask the models of a folder, live; the report's sibling."""
