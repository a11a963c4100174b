"""Claims on instructions and preferences."""
