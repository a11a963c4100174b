"""Learning from rewards and preferences: one task per method. The equations are in a separate module."""
