"""One file per architecture. Each implements one of the roles in `base`."""
