"""Tracking: what a result was made from, by which code, in which run, and the way back; see `pipeline.settings`."""
