"""Claims on the foundations of training, on networks and data of their own."""
