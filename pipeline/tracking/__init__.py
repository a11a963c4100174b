"""Tracking: the inputs, code and run of a result, and how to find it from its run; see `pipeline.settings`."""
