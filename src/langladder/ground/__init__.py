"""What everything else stands on: errors, checked settings, atomic writes, progress, memory, remote files."""
