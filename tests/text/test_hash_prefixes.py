"""Tables of the first bits of hashes: whatever is in the set is found, and little else."""

import numpy as np
import pytest

from langladder.text.clean.hash_prefixes import prefixes_of, with_prefix


@pytest.mark.parametrize("most", [6, 30])
def test_all_of_the_set_and_few_others_are_found(most: int) -> None:
    random = np.random.default_rng(1)
    hashes = random.integers(2**64, size=1000, dtype=np.uint64)
    others = random.integers(2**64, size=50_000, dtype=np.uint64)
    table = prefixes_of(hashes, most)
    assert len(table) == (2**11 if most == 30 else 2**3)
    mixed = np.concatenate([others, hashes])
    found = with_prefix(mixed, table)
    bits = np.unpackbits(table, bitorder="little")
    expected = np.flatnonzero(bits[(mixed >> np.uint64(64 - min(most, 14))).astype(np.int64)])
    assert np.array_equal(found, expected) and set(range(50_000, 51_000)) <= set(found.tolist())
    assert most == 6 or len(found) < 1000 + 50_000 / 14


def test_nothing_is_in_an_empty_set() -> None:
    table = prefixes_of(np.zeros(0, dtype=np.uint64), 30)
    assert len(with_prefix(np.arange(10, dtype=np.uint64), table)) == 0
