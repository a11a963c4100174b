"""Damaged entries of foreign files: refused by `strict`, counted by `skip`."""

import pytest

from langladder.ground.errors import Damage, InputError


def test_strict_reports_the_location_of_the_first_damaged_entry() -> None:
    with pytest.raises(InputError, match=r"^v\.txt:3: a word that occurs twice; remove it$"):
        Damage("strict").found("v.txt:3", "a word that occurs twice", "remove it")


def test_skip_counts_by_kind_and_keeps_the_first_location() -> None:
    damage = Damage("skip")
    assert (damage.report(), damage.summary()) == ({}, "")
    for location, kind in (("v.txt:3", "twice"), ("v.txt:4", "cut"), ("v.txt:9", "twice")):
        damage.found(location, kind)
    assert damage.report() == {"twice": {"count": 2, "first": "v.txt:3"}, "cut": {"count": 1, "first": "v.txt:4"}}
    assert damage.summary() == "3 entries skipped: twice (2, first at v.txt:3); cut (1, first at v.txt:4)"
