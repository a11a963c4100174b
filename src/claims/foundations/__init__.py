"""Claims on the foundations of training, with their own networks and data."""
