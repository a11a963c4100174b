"""Claims on the value of pre-trained networks for other tasks."""
