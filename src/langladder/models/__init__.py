"""One file per architecture; each keeps one of the contracts in `base`."""
