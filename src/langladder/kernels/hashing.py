"""FNV-1a (Fowler, Noll & Vo), the hash by which fastText puts n-grams into buckets."""


def fnv1a(data: bytes) -> int:
    """FNV-1a, 32 bits, as the fastText tool computes it: equal to the published function on ASCII."""
    h = 2166136261
    for byte in data:
        h ^= byte if byte < 128 else byte | 0xFFFFFF00  # a signed char, widened to 32 bits
        h = h * 16777619 % 2**32
    return h
