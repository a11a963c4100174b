"""WEAT: by hand, against every division counted one by one, the published effect sizes, malformed files."""

import csv
import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from real_data import real
from scipy.sparse import csr_matrix

from langladder.embeddings.base import WordVectors
from langladder.evaluation.bias import evaluate_weat, read_weat, weat
from langladder.formats.vector_files import read_vectors
from langladder.ground.errors import InputError

PUBLISHED = {"1": 1.54, "2": 1.63, "6": 1.89, "7": 0.97, "8": 1.24, "9": 1.30}
TEXT = """\
# two targets, two attributes
: plane
right: r1 r2
up: u1 u2 none
east: a
north: b
"""


def plane() -> WordVectors:
    """Unit vectors at 0° and 90° (attributes), at acos .8 and acos .6 (one target), acos 0 and acos −.6 (the other)."""
    matrix = [[1, 0], [0, 1], [0.8, 0.6], [0.6, 0.8], [0, 1], [-0.6, 0.8]]
    return WordVectors(["a", "b", "r1", "r2", "U1", "u2"], np.array(matrix, dtype=np.float32))


def test_figures_by_hand_golden(tmp_path: Path) -> None:
    path = tmp_path / "tests.txt"
    path.write_text(TEXT, encoding="utf-8")
    (result,) = evaluate_weat(plane(), path)["tests"]
    # s = cos(·, a) − cos(·, b): .2, −.2 and −1, −1.4; means 0 and −1.2; sum of squares about −.6: .64 .16 .16 .64
    assert result["effect_size"] == pytest.approx(1.2 / np.sqrt(1.6 / 3), abs=1e-6)
    assert result["p_value"] == pytest.approx(1 / 6, abs=1e-6) and result["exact"] is True
    assert [entry["covered"] for entry in result["sets"]] == [2, 2, 1, 1]
    assert result["coverage"] == pytest.approx(6 / 7, abs=1e-6)
    json.dumps(result)


def test_associations_of_rounding_errors_are_none() -> None:
    """Debiased targets, as near to either attribute but for float32's last digits."""
    rows = np.array(
        [[1, 0, 0], [-1, 0, 0], *([side * 4e-9, 1, height] for side in (1, 2, -1, -2) for height in (0, 1))]
    )
    vectors = WordVectors([str(row) for row in range(10)], rows.astype(np.float32))
    result = weat(vectors, np.arange(2, 6), np.arange(6, 10), np.array([0]), np.array([1]))
    assert result == {"effect_size": None, "p_value": None, "exact": None}
    seen = WordVectors(vectors.words, np.concatenate([rows[:2], rows[2:] * [1e6, 1, 1]]).astype(np.float32))
    assert (weat(seen, np.arange(2, 6), np.arange(6, 10), np.array([0]), np.array([1]))["effect_size"] or 0) > 1


@pytest.mark.parametrize("sparse", [False, True])
def test_p_value_counts_every_division(sparse: bool) -> None:
    rng = np.random.default_rng(3)
    matrix = rng.normal(size=(14, 6)).astype(np.float32)
    vectors = WordVectors([str(row) for row in range(14)], csr_matrix(matrix) if sparse else matrix)
    rows = np.arange(14)
    X, Y, A, B = rows[:4], rows[4:8], rows[8:11], rows[11:]
    unit = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    s = (unit[:8] @ unit[A].T).mean(1) - (unit[:8] @ unit[B].T).mean(1)
    apart = s[:4].sum() - s[4:].sum()
    divisions = [2 * s[list(chosen)].sum() - s.sum() for chosen in combinations(range(8), 4)]
    result = weat(vectors, X, Y, A, B)
    assert result["exact"] and result["p_value"] == pytest.approx(
        np.mean(np.array(divisions) >= apart - 1e-6), abs=1e-6
    )
    drawn = weat(vectors, X, Y, A, B, permutations=60)
    assert not drawn["exact"] and drawn["p_value"] == pytest.approx(result["p_value"], abs=0.25)
    assert drawn == weat(vectors, X, Y, A, B, permutations=60)


def test_undefined_figures_are_null() -> None:
    rows = np.arange(6)
    vectors = plane()
    assert weat(vectors, rows[2:3], rows[4:], rows[:1], rows[1:2])["effect_size"] is None
    assert weat(vectors, rows[2:4], rows[4:], rows[:0], rows[1:2])["effect_size"] is None
    alike = WordVectors(list("abcdef"), np.ones((6, 2), dtype=np.float32))
    assert weat(alike, rows[2:4], rows[4:], rows[:1], rows[1:2])["p_value"] is None


@pytest.mark.real
def test_published_effect_sizes_golden() -> None:
    folder = real("weat-wefe")
    vectors = read_vectors(folder / "weat_w2v____old.txt.gz")
    tests = {entry["name"].split()[0]: entry for entry in evaluate_weat(vectors, folder / "WEAT.json")["tests"]}
    assert len(tests) == 10
    result = {number: round(tests[number]["effect_size"], 2) for number in PUBLISHED}
    assert result == PUBLISHED
    assert tests["6"]["exact"] and tests["6"]["p_value"] == pytest.approx(1 / 12870, abs=1e-6)
    assert all(tests[number]["p_value"] < 0.05 for number in PUBLISHED)
    with (folder / "weat_effect_sizes.tsv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader((line for line in file if not line.startswith("#")), delimiter="\t"))
    for row in rows:
        number = row["test"].split()[0].removeprefix("WEAT")
        assert tests[number]["effect_size"] == pytest.approx(float(row["d_ddof1"]), abs=1e-4)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", ": t\na: b\n", ":1: the test 't' has 1 sets"),
        ("a.txt", "a: b\n", ":1: 'a: b' is not"),
        ("a.txt", ": t\na b\n", ":2: 'a b' is not"),
        ("a.txt", ": t\na:\n", ":2: 'a:' is not"),
        ("a.txt", "\n# none\n", "has no test"),
        ("a.json", "[]", "not an object"),
        ("a.json", '{"flowers": "rose"}', "'flowers' is not a list"),
        ("a.json", '{"flowers": ["rose"]}', "has no test"),
        ("a.json", "{", "not JSON"),
    ],
)
def test_malformed_files_are_refused(tmp_path: Path, name: str, content: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_weat(path)
