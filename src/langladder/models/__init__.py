"""One file an architecture; each keeps one of the contracts in `base`."""
