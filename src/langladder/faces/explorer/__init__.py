"""The explorer: pages that query the models of a folder, live."""
