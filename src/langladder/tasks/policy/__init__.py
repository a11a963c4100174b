"""Learning from rewards and preferences: one task a method, its equations apart from it."""
