"""The order of history: the historical order of every list of models in the explorer.

The year of a rung comes from the last run's report (`reports/ladder.json`), which has it from the file in conf/.
A model without a report, such as one of a models folder alone, has the year in which its approach began.
"""

from pathlib import Path

from langladder.answers.kinds import approach_of, kind_of
from langladder.faces.http.shelf import Shelf
from langladder.families import families
from langladder.ground.artefacts import read_json
from langladder.ground.errors import InputError

BEGAN = {
    "counting labels": 1950,
    "n-grams": 1951,
    "matching words": 1961,
    "bags of n-grams": 1972,
    "counted": 1988,
    "hand-made features": 1996,
    "window": 2000,
    "feed-forward": 2003,
    "recurrent": 2010,
    "bag of vectors": 2013,
    "convolutional": 2014,
    "recurrent with attention": 2014,
    "trees": 2015,
    "Transformer": 2017,
}
"""Approach → the year for a model whose own is unknown."""
LAST = 9999


def in_order(shelf: Shelf, *kinds: str) -> dict[str, Path]:
    """The models of some kinds (all, if none is named), name → folder, the oldest idea first.

    Kinds follow one another in the order of the report, word vectors first; models of one year keep its order, too.
    """
    folders = shelf.folders_of(*kinds) if kinds else shelf.folders
    known = _years(shelf)
    order = ["embedding", *families()]

    def sort_key(item: tuple[str, Path]) -> tuple[int, ...]:
        kind = kind_of(item[1])
        when = known.get(f"{item[1].parent.name}/{item[1].name}", (_year_of(item[1]), LAST))
        return order.index(kind) if kind in order else len(order), *when

    return dict(sorted(folders.items(), key=sort_key))


def _year_of(folder: Path) -> int:
    return BEGAN.get(approach_of(folder) or "", LAST)


def _years(shelf: Shelf) -> dict[str, tuple[int, int]]:
    """`family/name` → the year and the position in the report of the last run; {} if there is none."""
    file = shelf.project / "reports" / "ladder.json"
    try:
        return shelf.load("years", file, _read_years)
    except InputError:
        return {}


def _read_years(file: Path) -> dict[str, tuple[int, int]]:
    report = read_json(file)
    years: dict[str, tuple[int, int]] = {}
    for family, rungs in report.items() if isinstance(report, dict) else ():
        for rung in rungs if isinstance(rungs, list) else ():
            if isinstance(rung, dict) and isinstance(rung.get("year"), int):
                years[f"{family}/{rung.get('name')}"] = rung["year"], len(years)
    return years
