"""The base of all other packages: errors, checked settings, atomic writes, progress, memory, remote files."""
