"""How tables, shards and ids lie on disk."""
