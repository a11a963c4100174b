"""Property tests draw the same examples on every run, and no deadline fails them on a busy machine."""

from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")
