"""Known groups of words: do the vectors find them (purity), and the word that does not belong (outliers)?

Purity (Manning, Raghavan & Schütze 2008, section 16.3): the vectors, scaled to length 1, are cut into as many clusters
as there are groups by k-means; each cluster counts the words of its commonest group.

    purity = 1/N Σ_k max_j |cluster_k ∩ group_j|

Outlier detection (Camacho-Collados & Navigli 2016, "Find the word that does not belong"): n words of a group and one
that is not of it, W. A word's compactness is the mean similarity of the others, which is largest when the odd one out
is left out.

    c(w) = 1/(n (n − 1)) Σ_{u ≠ v ∈ W∖{w}} cos(u, v)
    OP   = the outlier's place by c, from 0 to n (n: found)
    accuracy = mean of [OP = n],   OPP = mean of OP / n

The paper's words are chosen by hand; here they are drawn, with a fixed seed, from the groups.
"""

from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from langladder.embeddings.base import WordVectors
from langladder.evaluation.page import Interval, Measured, Metric, Metrics
from langladder.evaluation.question_files import rows_by_word
from langladder.evaluation.significance import share_interval
from langladder.ground.errors import InputError
from langladder.text.read.lines import filled_lines

SEED = 0

CLUSTER, OUTLIERS = 8, 8  # words of a group, and outliers to each, as in the paper's 8-8-8 set

DRAWS = 4  # of such words from each group

LEAST_CLUSTER = 3  # minimum known words of a group


class OutlierFigure(Measured):
    """Odd ones out: the share found, the mean of their positions (OPP), and the number of cases."""

    accuracy: float | None
    opp: float | None
    cases: int


class Outliers(OutlierFigure):
    """Over all groups, with the interval of the accuracy."""

    interval: Interval | None


class WordGroup(OutlierFigure):
    """One group of words: its size, the number with vectors, its odd ones out."""

    name: str
    words: int
    covered: int


class Clusters(Measured):
    """The quality of known groups of words in the vectors; `groups` counts those with a known word."""

    purity: Annotated[
        float | None,
        Metric(
            "purity",
            "share of the words that belong to the most frequent group of their cluster (k-means)",
            unit="share",
            better="higher",
            card="purity of clusters",
        ),
    ]
    groups: int
    words: int
    covered: int
    coverage: float
    outliers: Annotated[
        Outliers,
        Metrics(
            only={
                "accuracy": Metric(
                    "outliers",
                    "share of the sets of words in which the word that does not belong is found",
                    unit="share",
                    better="higher",
                    name="outliers",
                )
            }
        ),
    ]
    sections: list[WordGroup] = Field(default_factory=list)


def read_groups(path: Path) -> dict[str, list[str]]:
    """Group → its words: `: group` begins one, with its words below it, any number per line; # begins a comment line.

    Raises:
        InputError: the file is missing or malformed (names the line), a word is in two groups, or there are fewer than
            two groups.
    """
    groups: dict[str, list[str]] = {}
    of: dict[str, str] = {}
    name = ""
    for number, text in filled_lines(Path(path)):
        if text.startswith("#"):
            continue
        if text.startswith(":"):
            name = text[1:].strip()
            if not name or name in groups:
                raise InputError(f"{path}:{number}: a group needs a name of its own after the colon, not {name!r}")
            groups[name] = []
            continue
        if not name:
            raise InputError(f"{path}:{number}: {text[:60]!r} comes before the first group (a line `: name`)")
        for word in text.split():
            if word in of:
                raise InputError(f"{path}:{number}: {word!r} is in the group {of[word]!r} already")
            of[word] = name
            groups[name].append(word)
    if sum(bool(words) for words in groups.values()) < 2:
        raise InputError(f"{path}: needs at least two groups with words")
    return groups


def evaluate_clusters(vectors: WordVectors, path: Path, *, ignore_case: bool = True) -> Clusters:
    """Purity and outlier detection on the groups of a file.

    Returns:
        The figures; they are None where fewer than two groups have known words, or none has the words to draw from.

    Raises:
        InputError: see `read_groups`.
    """
    groups = read_groups(path)
    by_word = rows_by_word(vectors, ignore_case=ignore_case)
    fold = str.casefold if ignore_case else str
    known = {
        name: list(dict.fromkeys(by_word[fold(word)] for word in words if fold(word) in by_word))
        for name, words in groups.items()
    }
    results = {name: np.array(rows, dtype=np.int64) for name, rows in known.items() if rows}
    positions = {name: _outlier_positions(vectors, results, name) for name in results}
    every = np.concatenate(list(positions.values())) if positions else np.zeros(0)
    words, covered = sum(map(len, groups.values())), sum(map(len, known.values()))
    interval = share_interval(int((every == 1).sum()), len(every))
    sections = []
    for name in groups:
        outliers = _figure(positions.get(name, np.zeros(0))).model_dump()
        sections.append(WordGroup(name=name, words=len(groups[name]), covered=len(known[name]), **outliers))
    return Clusters(
        purity=purity(vectors, list(results.values())),
        groups=len(results),
        words=words,
        covered=covered,
        coverage=round(covered / words, 6),
        outliers=Outliers(interval=interval, **_figure(every).model_dump()),
        sections=sections,
    )


def _figure(positions: np.ndarray) -> OutlierFigure:
    if len(positions) == 0:
        return OutlierFigure(accuracy=None, opp=None, cases=0)
    accuracy, opp = float((positions == 1).mean()), float(positions.mean())
    return OutlierFigure(accuracy=round(accuracy, 6), opp=round(opp, 6), cases=len(positions))


def purity(vectors: WordVectors, groups: list[np.ndarray]) -> float | None:
    """Purity of k-means clusters, one for each of the groups of rows; None for fewer than two groups."""
    if len(groups) < 2:
        return None
    from sklearn.cluster import KMeans  # scikit-learn takes a second to import

    rows = np.concatenate(groups)
    truth = np.repeat(np.arange(len(groups)), [len(group) for group in groups])  # (N,)
    with threadpool_limits(1):  # sums in the same order on any machine
        clusters = KMeans(len(groups), n_init=10, random_state=SEED).fit_predict(vectors.unit[rows])  # (N,)
    shared = np.zeros((len(groups), len(groups)), dtype=np.int64)  # clusters × groups
    np.add.at(shared, (clusters, truth), 1)
    # purity = 1/N Σ_k max_j |cluster_k ∩ group_j|
    return round(float(shared.max(axis=1).sum() / len(rows)), 6)


def _outlier_positions(vectors: WordVectors, groups: dict[str, np.ndarray], name: str) -> np.ndarray:
    """OP / n of the cases drawn for one group, (C,)."""
    rng = np.random.default_rng([SEED, *name.encode()])
    own = groups[name]
    others = np.array([row for other, rows in groups.items() if other != name for row in rows if row not in own])
    if len(own) < LEAST_CLUSTER or len(others) == 0:
        return np.zeros(0)
    positions: list[float] = []
    for _ in range(DRAWS):
        cluster = rng.choice(own, min(CLUSTER, len(own)), replace=False)
        outliers = rng.choice(others, min(OUTLIERS, len(others)), replace=False)
        positions += [outlier_position(vectors, np.append(cluster, outlier)) / len(cluster) for outlier in outliers]
    return np.array(positions)


def outlier_position(vectors: WordVectors, rows: np.ndarray) -> int:
    """OP of the last of n + 1 rows: how many of the others have a smaller compactness."""
    compactness = compactness_scores(vectors, rows)
    return int((compactness[:-1] < compactness[-1]).sum())


def compactness_scores(vectors: WordVectors, rows: np.ndarray) -> np.ndarray:
    """c(w) of each of n + 1 rows, (n + 1,) float64."""
    unit = vectors.unit[rows]
    cosines = np.array((unit @ unit.T).toarray() if vectors.is_sparse else unit @ unit.T, dtype=np.float64)
    np.fill_diagonal(cosines, 0)
    n = len(rows) - 1
    # Σ over the pairs without w = Σ over all pairs − the pairs with w on either side
    scores: np.ndarray = (cosines.sum() - 2 * cosines.sum(axis=1)) / (n * (n - 1))
    return scores
