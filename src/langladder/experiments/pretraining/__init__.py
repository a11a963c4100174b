"""Claims on what pre-trained networks are worth to other tasks."""
