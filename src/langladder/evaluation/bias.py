"""Bias (such as gender bias) in word vectors, before and after debiasing.

Three looks of Bolukbasi et al. 2016 and one of Caliskan et al. 2017, at words that should be neutral (professions):

    projections    cos(w, g) on the bias direction g; their mean size is the paper's direct bias with c = 1 (section
                   5.2), and their ranks are held against how people judged the words
    analogies      man : programmer :: woman : ?  by 3CosAdd. It never answers with a word of the question (Nissim et
                   al. 2020), so the audit also says whether `programmer` itself would have won.
    WEAT           the word-embedding association test: do two sets of words lean towards different sets of attributes?

WEAT (Caliskan, Bryson & Narayanan 2017, "Semantics derived automatically from language corpora contain human-like
biases", supplement), with target sets X, Y (flowers, insects) and attribute sets A, B (pleasant, unpleasant):

    association   s(w, A, B) = mean_{a ∈ A} cos(w, a) − mean_{b ∈ B} cos(w, b)
    effect size   d = (mean_{x ∈ X} s(x, A, B) − mean_{y ∈ Y} s(y, A, B)) / std_{w ∈ X ∪ Y} s(w, A, B)
    p-value       the share of all divisions of X ∪ Y into sets of those sizes that set X and Y at least as far apart

The deviation is that of a sample (n − 1), as in the reference figures. The paper asks for divisions *further* apart;
here the division at hand counts too, so that p is never 0. Where words are missing and X and Y differ in size, the
statistic is the difference of the means, which for equal sizes ranks as the paper's difference of the sums.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb
from pathlib import Path
from typing import Annotated, NotRequired, TypedDict

import numpy as np
from pydantic import Field
from scipy.stats import permutation_test

from langladder.embeddings.base import WordVectors
from langladder.embeddings.debias import bias_subspace, hard_debias
from langladder.embeddings.postprocess import HardDebias
from langladder.embeddings.word_lists import BiasLists, microworld_weat
from langladder.evaluation.page import Interval, Measured, Metric, Metrics
from langladder.evaluation.significance import spearman_interval
from langladder.evaluation.similarity import spearman
from langladder.ground.artefacts import read_json
from langladder.ground.errors import InputError
from langladder.text.read.lines import filled_lines

FROM_EACH_END = 10  # professions for analogies, from either end of their projections


class WeatSet(TypedDict):
    """A set of words of a test, and the number of them with vectors."""

    name: str
    words: int
    covered: int


class WeatFigures(TypedDict):
    """Effect size and p-value of a test; exact: over all divisions. None if undefined."""

    effect_size: float | None
    p_value: float | None
    exact: bool | None


class WeatResult(WeatFigures):
    """A test of a file with its figures; coverage: the share of its words that have vectors."""

    name: str
    sets: list[WeatSet]
    coverage: float


class Weat(TypedDict):
    """All tests of a file."""

    tests: list[WeatResult]


class AnalogyAnswer(TypedDict):
    """The answer for a word; unchanged: the word itself is nearer to the target than the answer."""

    word: str
    answer: str
    cosine: float
    unchanged: bool


class BiasAnalogies(TypedDict):
    """second : word :: first : answer, of the pair [second, first]."""

    pair: list[str]
    answers: list[AnalogyAnswer]


class StereotypeFigures(TypedDict):
    """Rank correlation of projections with people's judgements; ρ is positive if they agree."""

    spearman: float | None
    interval: Interval | None
    words: int


class BiasAudit(TypedDict):
    """The bias of vectors, see `audit`."""

    direct_bias: float | None
    projections: list[tuple[str, float]]
    words: int
    covered: int
    stereotype: StereotypeFigures
    weat: list[WeatResult] | None
    analogies: NotRequired[BiasAnalogies | None]


class BiasReport(TypedDict):
    """The audit before and after debiasing; explained: see `explained`."""

    explained: list[float]
    before: BiasAudit
    after: BiasAudit


class DirectBias(Measured):
    """Mean |cos(w, g)| of words that should be neutral, with the direction g of the vectors before debiasing."""

    before: Annotated[
        float,
        Metric(
            "bias before",
            "direct bias before debiasing: mean absolute cosine between the names of jobs and the direction of the "
            "bias, 0 to 1",
            name="direct_bias_before",
        ),
    ]
    after: Annotated[
        float,
        Metric(
            "bias",
            "direct bias after debiasing; words that were neutralised have none",
            better="lower",
            name="direct_bias",
        ),
    ]
    words: int


class WeatShift(Measured):
    """The effect size of a WEAT before and after debiasing; after: None where all associations became equal."""

    name: str
    before: Annotated[
        float,
        Metric(
            "WEAT {name} before",
            "effect size of the word-embedding association test {name} before debiasing; 0: no association",
            digits=2,
            logged=False,
        ),
    ]
    after: Annotated[float | None, Metric("WEAT {name}", "the same after debiasing", digits=2, logged=False)]


class BiasShift(Measured):
    """What hard debiasing changed; None or nothing where the vocabulary lacks the words."""

    direct: Annotated[DirectBias | None, Metrics()] = None
    weat: Annotated[list[WeatShift], Metrics()] = Field(default_factory=list)


def bias_shift(before: WordVectors, after: WordVectors, step: HardDebias) -> BiasShift:
    """Direct bias and WEAT before and after a step of debiasing.

    The tests are those of `weat.txt` or `weat.json` in the folder of lists.

    Raises:
        InputError: see `bias_subspace`, `read_weat`.
    """
    lists = step.words()
    direction = bias_subspace(before, lists.definitional)[0]
    tests: list[WeatTest] = []
    if step.lists == "microworld":
        tests = [WeatTest("mood", tuple(microworld_weat().items()))]
    else:
        files = [path for path in (Path(step.lists) / f"weat.{suffix}" for suffix in ("txt", "json")) if path.is_file()]
        tests = [test for path in files for test in read_weat(path)]
    first, second = (audit(vectors, direction, lists) for vectors in (before, after))
    direct = None
    if first["direct_bias"] is not None and second["direct_bias"] is not None:
        direct = DirectBias(before=first["direct_bias"], after=second["direct_bias"], words=first["covered"])
    pairs = zip(*(run_weat(vectors, tests) for vectors in (before, after)), strict=True)
    sizes = [(result["name"], result["effect_size"], other["effect_size"]) for result, other in pairs]
    return BiasShift(
        direct=direct,
        weat=[WeatShift(name=name, before=effect, after=other) for name, effect, other in sizes if effect is not None],
    )


def debias_and_audit(
    vectors: WordVectors, lists: BiasLists, *, weat: Path | None = None, components: int = 1
) -> tuple[WordVectors, BiasReport]:
    """Hard-debiased vectors, and the audit of both: {"explained", "before": …, "after": …}, see `audit`.

    Both are compared with the direction found before, and answer the same analogies: about the professions that lean
    most to either side before.

    Returns:
        "explained": share of the definitional sets' variance along each of their first ten principal components.

    Raises:
        InputError: see `hard_debias`, `evaluate_weat`.
    """
    direction = bias_subspace(vectors, lists.definitional)[0]
    debiased = hard_debias(vectors, lists, components=components)
    before = audit(vectors, direction, lists, weat=weat)
    leaning = [word for word, _ in before["projections"]]
    professions = list(dict.fromkeys(leaning[:FROM_EACH_END] + leaning[-FROM_EACH_END:]))
    before["analogies"] = analogies(vectors, lists.definitional, professions)
    after = audit(debiased, direction, lists, weat=weat)
    after["analogies"] = analogies(debiased, lists.definitional, professions)
    return debiased, {"explained": explained(vectors, lists.definitional), "before": before, "after": after}


def audit(vectors: WordVectors, direction: np.ndarray, lists: BiasLists, *, weat: Path | None = None) -> BiasAudit:
    """Projections of the professions, and WEAT.

    Args:
        direction: (D,), of length 1; points to the first words of the definitional pairs.
        weat: a file of tests; None: no tests.

    Returns:
        {"direct_bias", "projections": [[word, cos]] from −1 to 1, "words", "covered", "stereotype": {"spearman",
        "interval", "words"}, "weat": list of tests or None}. Words that are specific by meaning are not asked. The
        stereotypes' sign is turned, so that ρ is positive where the vectors lean as people do.
    """
    specific = {*lists.specific, *(word for words in (*lists.definitional, *lists.equalise) for word in words)}
    neutral = [word for word in dict.fromkeys(lists.professions) if word not in specific]
    known = [word for word in neutral if word in vectors]
    rows = np.array([vectors.index[word] for word in known], dtype=np.int64)
    cosines = vectors.dense(rows).astype(np.float64) @ direction if len(rows) else np.zeros(0)  # (P,)
    cosines = cosines.round(6) + 0.0  # rounding errors of 0 are ignored
    projections = [(known[position], float(cosines[position])) for position in np.argsort(cosines, kind="stable")]

    rated = [position for position, word in enumerate(known) if word in lists.stereotypes]
    leaning = cosines[rated]
    stereotypes = -np.array([lists.stereotypes[known[position]] for position in rated])
    correlation = spearman(leaning, stereotypes)
    interval = None if correlation is None else spearman_interval(leaning, stereotypes)
    return {
        # DirectBias = 1/|N| Σ_{w ∈ N} |cos(w, g)|
        "direct_bias": round(float(np.abs(cosines).mean()), 6) if known else None,
        "projections": projections,
        "words": len(neutral),
        "covered": len(known),
        "stereotype": {"spearman": correlation, "interval": interval, "words": len(rated)},
        "weat": None if weat is None else evaluate_weat(vectors, weat)["tests"],
    }


def analogies(vectors: WordVectors, pairs: Sequence[Sequence[str]], words: Sequence[str]) -> BiasAnalogies | None:
    """second : word :: first : ? of each word, with the first pair that has vectors (man : programmer :: woman : ?).

    Returns:
        {"pair": [second, first], "answers": [{"word", "answer", "cosine", "unchanged"}]}; unchanged where the word
        itself is nearer to the target than the answer. None where no pair has vectors.
    """
    pair = next((pair for pair in pairs if pair[0] in vectors and pair[1] in vectors), None)
    if pair is None:
        return None
    first, second = pair[0], pair[1]
    answers: list[AnalogyAnswer] = []
    for word in words:
        if word not in vectors:
            continue
        for answer, cosine in vectors.analogy(second, word, first):
            b, a, c = vectors.dense([vectors.row(word), vectors.row(second), vectors.row(first)])
            target = b - a + c
            own = float(b @ target) / max(float(np.linalg.norm(target)), 1e-12)
            answers.append({"word": word, "answer": answer, "cosine": round(cosine, 6), "unchanged": own > cosine})
    return {"pair": [second, first], "answers": answers}


def explained(vectors: WordVectors, definitional: Sequence[Sequence[str]]) -> list[float]:
    """Share of the variance within the definitional sets along each of the first (at most ten) components."""
    unit = vectors.unit.astype(np.float64)
    rows = [[vectors.index[word] for word in words] for words in definitional if all(word in vectors for word in words)]
    within = np.concatenate([(unit[part] - unit[part].mean(axis=0)) / np.sqrt(len(part)) for part in rows])
    squares = np.linalg.svd(within, compute_uv=False) ** 2
    return [round(float(share), 6) for share in (squares / squares.sum())[:10]]


PERMUTATIONS = 20_000  # if there are more divisions, this many are drawn

SEED = 0

ROUNDING = 1e-6
"""Associations that differ by less are equal: unit vectors are float32, and so are their cosines up to about 1e-7."""

# The paper's tests, by the names of their sets in WEAT.json (of the WEFE library): X, Y, A, B.
CALISKAN = {
    "1 flowers, insects": ("flowers", "insects", "pleasant_5", "unpleasant_5a"),
    "2 instruments, weapons": ("instruments", "weapons", "pleasant_5", "unpleasant_5a"),
    "3 names": ("european_american_names_5", "african_american_names_5", "pleasant_5", "unpleasant_5b"),
    "4 names": ("european_american_names_7", "african_american_names_7", "pleasant_5", "unpleasant_5b"),
    "5 names": ("european_american_names_7", "african_american_names_7", "pleasant_9", "unpleasant_9"),
    "6 male, female names: career, family": ("male_names", "female_names", "career", "family"),
    "7 mathematics, arts: male, female": ("math", "arts", "male_terms", "female_terms"),
    "8 science, arts: male, female": ("science", "arts_2", "male_terms_2", "female_terms_2"),
    "9 mental, physical disease": ("mental_disease", "physical_disease", "temporary", "permanent"),
    "10 young, old people's names": ("young_people_names", "old_people_names", "pleasant_9", "unpleasant_9"),
}


@dataclass(frozen=True)
class WeatTest:
    """Two targets X, Y and two attributes A, B: each a name and its words, in this order."""

    name: str
    sets: tuple[tuple[str, list[str]], ...]


def read_weat(path: Path) -> list[WeatTest]:
    """The tests of a file.

    A JSON file maps names of sets to lists of words; those of `CALISKAN`'s tests whose four sets it has are asked.
    Any other file is text: a test opens with `: name`, and its four lines are X, Y, A, B, each `set name: word word …`.
    Blank lines, and lines that open with #, are skipped.

    Raises:
        InputError: the file is missing, malformed (names the line) or has no test.
    """
    path = Path(path)
    tests = _from_json(path) if path.suffix == ".json" else _from_text(path)
    if not tests:
        raise InputError(f"{path}: has no test (sets of a test: {', '.join(next(iter(CALISKAN.values())))})")
    return tests


def _from_json(path: Path) -> list[WeatTest]:
    sets = read_json(path)
    if not isinstance(sets, dict):
        raise InputError(f"{path}: not an object that maps names of sets to lists of words")
    for name, words in sets.items():
        if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
            raise InputError(f"{path}: the set {name!r} is not a list of words")
    return [
        WeatTest(test, tuple((name, sets[name]) for name in names))
        for test, names in CALISKAN.items()
        if set(names) <= set(sets)
    ]


def _from_text(path: Path) -> list[WeatTest]:
    tests: list[tuple[int, str, list[tuple[str, list[str]]]]] = []
    for number, text in filled_lines(path):
        if text.startswith("#"):
            continue
        if text.startswith(":"):
            tests.append((number, text[1:].strip(), []))
            continue
        name, colon, words = text.partition(":")
        if not tests or not colon or not words.split():
            raise InputError(f"{path}:{number}: {text[:60]!r} is not `: test` or, below one, `set name: word word …`")
        tests[-1][2].append((name.strip(), words.split()))
    for number, name, sets in tests:
        if len(sets) != 4:
            raise InputError(f"{path}:{number}: the test {name!r} has {len(sets)} sets; needed: X, Y, A, B")
    return [WeatTest(name, tuple(sets)) for _, name, sets in tests]


def evaluate_weat(vectors: WordVectors, path: Path, *, permutations: int = PERMUTATIONS) -> Weat:
    """Effect size and p-value of every test of a file.

    A word is looked up as it is written, then in any case (first, most frequent, spelling).

    Args:
        permutations: number of divisions; all of them if there are no more.

    Returns:
        {"tests": [{"name", "effect_size", "p_value", "exact", "sets": [{"name", "words", "covered"}], "coverage"}]}.
        The figures are null if an attribute has no known word, a target fewer than two, or all associations are equal
        up to the arithmetic's rounding (debiased vectors).

    Raises:
        InputError: see `read_weat`.
    """
    return {"tests": run_weat(vectors, read_weat(path), permutations=permutations)}


def run_weat(vectors: WordVectors, tests: Sequence[WeatTest], *, permutations: int = PERMUTATIONS) -> list[WeatResult]:
    """The figures of tests, as `evaluate_weat`."""
    folded: dict[str, int] = {}
    for row, word in enumerate(vectors.words):
        folded.setdefault(word.casefold(), row)

    results: list[WeatResult] = []
    for test in tests:
        rows = [_rows(vectors, folded, words) for _, words in test.sets]
        sets: list[WeatSet] = [
            {"name": name, "words": len(words), "covered": len(known)}
            for (name, words), known in zip(test.sets, rows, strict=True)
        ]
        figures = weat(vectors, *rows, permutations=permutations)
        total = sum(len(words) for _, words in test.sets)
        coverage = round(sum(len(known) for known in rows) / total, 6)
        results.append({"name": test.name, **figures, "sets": sets, "coverage": coverage})
    return results


def _rows(vectors: WordVectors, folded: dict[str, int], words: Iterable[str]) -> np.ndarray:
    rows = (vectors.index.get(word, folded.get(word.casefold())) for word in words)
    return np.array(list(dict.fromkeys(row for row in rows if row is not None)), dtype=np.int64)


def weat(
    vectors: WordVectors,
    X: np.ndarray,
    Y: np.ndarray,
    A: np.ndarray,
    B: np.ndarray,
    *,
    permutations: int = PERMUTATIONS,
) -> WeatFigures:
    """Effect size and p-value of one test.

    Args:
        X, Y, A, B: rows of the words of the targets and the attributes.

    Returns:
        {"effect_size", "p_value", "exact"}: exact where every division was asked; see `evaluate_weat` for nulls.
    """
    nothing: WeatFigures = {"effect_size": None, "p_value": None, "exact": None}
    if min(len(X), len(Y)) < 2 or min(len(A), len(B)) < 1:
        return nothing
    # s(w, A, B) = mean_a cos(w, a) − mean_b cos(w, b)
    targets = np.concatenate([X, Y])
    association = _cosines(vectors, targets, A).mean(axis=1) - _cosines(vectors, targets, B).mean(axis=1)  # (X + Y,)
    of_X, of_Y = association[: len(X)], association[len(X) :]
    deviation = float(association.std(ddof=1))
    if deviation < ROUNDING:
        return nothing
    test = permutation_test(
        (of_X, of_Y),
        lambda x, y, axis: x.mean(axis=axis) - y.mean(axis=axis),
        vectorized=True,
        n_resamples=permutations,
        batch=1000,
        alternative="greater",
        rng=SEED,
    )
    return {
        "effect_size": round(float(of_X.mean() - of_Y.mean()) / deviation, 6) + 0.0,
        "p_value": round(float(test.pvalue), 6),
        "exact": comb(len(association), len(X)) <= permutations,
    }


def _cosines(vectors: WordVectors, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """cos of every row of the one with every row of the other, (N, M) float64."""
    product = vectors.unit[first].astype(np.float64) @ vectors.unit[second].astype(np.float64).T
    return np.asarray(product.toarray() if vectors.is_sparse else product)
