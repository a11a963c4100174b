"""Models behind HTTP: what others' clients call, and the pages of the explorer."""
