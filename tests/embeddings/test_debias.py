"""Hard debiasing: three dimensions by hand, its invariants, parity with PCA, word lists."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from real_data import real
from scipy.sparse import csr_matrix
from sklearn.decomposition import PCA

from langladder.embeddings.base import WordVectors
from langladder.embeddings.debias import bias_subspace, equalise, hard_debias, neutralise
from langladder.embeddings.word_lists import BiasLists, read_stereotypes, read_word_sets, read_words
from langladder.ground.errors import InputError

PAIRS = [["she", "he"], ["her", "his"]]


def lists(**parts: object) -> BiasLists:
    defaults = {"definitional": PAIRS, "equalise": [["aunt", "uncle"]], "specific": ["beard"], "professions": []}
    return BiasLists(**(defaults | {"stereotypes": {}} | parts))  # type: ignore[arg-type]


def small() -> WordVectors:
    """The bias lies along x."""
    table = {
        "she": [0.6, 0.8, 0],
        "he": [-0.6, 0.8, 0],
        "her": [0.6, 0, 0.8],
        "his": [-0.6, 0, 0.8],
        "aunt": [0.8, 0.6, 0],
        "uncle": [0, 0.6, 0.8],
        "beard": [-0.8, 0, 0.6],
        "nurse": [0.6, 0, 0.8],
        "Nurse": [1, 0, 0],
    }
    return WordVectors(list(table), np.array(list(table.values()), dtype=np.float32))


def random_vectors(seed: int = 0, dim: int = 20) -> WordVectors:
    words = ["she", "he", "her", "his", "aunt", "uncle", "Aunt", "Uncle", "beard", *(f"w{row}" for row in range(40))]
    rng = np.random.default_rng(seed)
    return WordVectors(words, (3 * rng.normal(size=(len(words), dim))).astype(np.float32))


def test_three_dimensions_golden() -> None:
    before = small()
    assert bias_subspace(before, PAIRS)[0].tolist() == pytest.approx([1, 0, 0], abs=1e-7)
    after = hard_debias(before, lists())
    assert after["nurse"].tolist() == pytest.approx([0, 0, 1], abs=1e-7)
    assert after["Nurse"].tolist() == [0, 0, 0]  # nothing but bias
    # μ = (.4, .6, .4), ν = (0, .6, .4), 1 − ‖ν‖² = .48
    assert after["aunt"].tolist() == pytest.approx([np.sqrt(0.48), 0.6, 0.4], abs=1e-6)
    assert after["uncle"].tolist() == pytest.approx([-np.sqrt(0.48), 0.6, 0.4], abs=1e-6)
    assert after["beard"].tolist() == pytest.approx([-0.8, 0, 0.6], abs=1e-6)
    assert after["she"].tolist() == pytest.approx([0.6, 0.8, 0], abs=1e-6)
    done = {"step": "hard_debias", "components": 1, "neutralised": 2, "equalised_sets": 1}
    assert after.about["postprocess"] == [done]


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), components=st.sampled_from([1, 2]))
def test_invariants(seed: int, components: int) -> None:
    before = random_vectors(seed)
    after = hard_debias(before, lists(), components=components)
    subspace = bias_subspace(before, PAIRS, components)
    assert subspace @ subspace.T == pytest.approx(np.eye(components), abs=1e-9)
    neutral = [word for word in before.words if word.startswith("w")]
    rows = [before.index[word] for word in neutral]
    # neutral words have nothing along the bias, and length 1
    assert np.abs(after.matrix[rows] @ subspace.T).max() < 1e-6
    assert np.linalg.norm(after.matrix, axis=1) == pytest.approx(np.ones(len(before)), abs=1e-5)
    # equalised pairs are as near to each; also the pair in title case
    for item, other in (("aunt", "uncle"), ("Aunt", "Uncle")):
        for word in neutral:
            assert after.similarity(item, word) == pytest.approx(after.similarity(other, word), abs=1e-5)
            distances = [np.linalg.norm(after[side] - after[word]) for side in (item, other)]
            assert distances[0] == pytest.approx(distances[1], abs=1e-5)
    # words whose meaning it is, and the definitional pairs, are as they were but for length
    for word in ("beard", "she", "he", "her", "his"):
        assert after[word] == pytest.approx(before[word] / np.linalg.norm(before[word]), abs=1e-6)


def test_debiasing_twice_equals_debiasing_once() -> None:
    once = hard_debias(random_vectors(), lists(equalise=PAIRS, specific=[]))
    twice = hard_debias(once, lists(equalise=PAIRS, specific=[]))
    assert twice.matrix == pytest.approx(once.matrix, abs=1e-5)


def test_subspace_parity_with_scikit_learn() -> None:
    vectors = random_vectors()
    unit = vectors.unit.astype(np.float64)
    pairs = [["she", "he"], ["her", "his"], ["aunt", "uncle"], ["missing", "he"]]
    rows = []
    for item, other in pairs[:3]:
        centre = (unit[vectors.index[item]] + unit[vectors.index[other]]) / 2
        rows += [unit[vectors.index[item]] - centre, unit[vectors.index[other]] - centre]
    peer = PCA(2, svd_solver="full").fit(np.array(rows)).components_
    ours = bias_subspace(vectors, pairs, 2)
    assert np.abs(np.sum(ours * peer, axis=1)) == pytest.approx(np.ones(2), abs=1e-6)
    # it points to the first words of the pairs
    differences = [unit[vectors.index[item]] - unit[vectors.index[other]] for item, other in pairs[:3]]
    assert (np.mean(differences, axis=0) @ ours.T > 0).all()


def test_sets_of_several_words_count_by_the_mean_of_their_squares() -> None:
    """The largest eigenvector of Σ_i Σ_w (w − μ_i)(w − μ_i)ᵀ / |D_i|: four words along x weigh no more than a pair."""
    a, b = 0.5, 0.55  # Σ/|D|: x 0.25, y 0.3025; with Σ/√|D| x would win: 4 · 0.25/2 > 2 · 0.3025/√2
    x, y = (np.sqrt(1 - side * side) for side in (a, b))
    rows = [[a, 0, x], [-a, 0, x], [a, 0, x], [-a, 0, x], [0, b, y], [0, -b, y]]
    vectors = WordVectors(list("pqrstu"), np.array(rows, dtype=np.float32))
    sets = [["p", "q", "r", "s"], ["t", "u"]]
    assert np.abs(bias_subspace(vectors, sets, 2)) == pytest.approx(np.array([[0, 1, 0], [1, 0, 0]]), abs=1e-6)


def test_one_direction_parity_with_the_authors_program() -> None:
    """Their form for a pair: y the mean without its part along g, z = √(1 − ‖y‖²), the words y ± z g."""
    before = random_vectors(7)
    after = hard_debias(before, lists())
    g = bias_subspace(before, PAIRS)[0]
    for item, other in (("aunt", "uncle"), ("Aunt", "Uncle")):
        a, b = (before.unit[before.index[word]].astype(np.float64) for word in (item, other))
        mean = (a + b) / 2
        y = mean - g * (mean @ g)
        z = np.sqrt(1 - y @ y) * (-1 if (a - b) @ g < 0 else 1)
        assert after[item] == pytest.approx(y + z * g, abs=1e-6) and after[other] == pytest.approx(y - z * g, abs=1e-6)
    v = before.unit[before.index["w3"]].astype(np.float64)
    dropped = v - g * (v @ g)
    assert after["w3"] == pytest.approx(dropped / np.linalg.norm(dropped), abs=1e-6)


def test_parts_alone() -> None:
    subspace = np.eye(4)[:2]
    unit = np.array([[0.5, 0.5, 0.5, 0.5], [0.5, -0.5, 0.5, 0.5], [-0.5, 0.5, -0.5, 0.5]])
    assert neutralise(unit, subspace)[0] == pytest.approx([0, 0, np.sqrt(0.5), np.sqrt(0.5)])
    equal = equalise(unit, subspace)
    assert np.linalg.norm(equal, axis=1) == pytest.approx(np.ones(3))
    assert equal[:, 2:] == pytest.approx(np.tile([1 / 6, 0.5], (3, 1)))
    with pytest.raises(InputError, match="cannot be equalised"):
        equalise(unit[[0, 0]], subspace)


def test_bad_lists_are_refused() -> None:
    vectors = small()
    with pytest.raises(InputError, match="0 of 1 have vectors"):
        bias_subspace(vectors, [["queen", "king"]])
    with pytest.raises(InputError, match="fewer than 2 directions"):
        bias_subspace(vectors, PAIRS, 2)
    with pytest.raises(InputError, match="'aunt' is in"):
        hard_debias(vectors, lists(equalise=[["aunt", "uncle"], ["aunt", "he"]]))
    with pytest.raises(InputError, match=r"equalised set \('nurse', 'her'\)"):
        hard_debias(vectors, lists(equalise=[["nurse", "her"]]))
    with pytest.raises(InputError, match="sparse"):
        hard_debias(WordVectors(vectors.words, csr_matrix(vectors.matrix)), lists())


def test_word_lists_of_either_form(tmp_path: Path) -> None:
    (tmp_path / "definitional_pairs.txt").write_text("# pairs\nshe he\nher\this\n", encoding="utf-8")
    (tmp_path / "equalize_pairs.json").write_text('[["aunt", "uncle"]]', encoding="utf-8")
    (tmp_path / "specific.txt").write_text("beard\n\nBart\n", encoding="utf-8")
    (tmp_path / "professions.txt").write_text("nurse 0.1 -0.9\nbaker 0 0.2\n", encoding="utf-8")
    result = BiasLists.read(tmp_path)
    assert (
        result.definitional == PAIRS and result.equalise == [["aunt", "uncle"]] and result.specific == ["beard", "Bart"]
    )
    assert result.professions == ["nurse", "baker"] and result.stereotypes == {"nurse": -0.9, "baker": 0.2}
    (tmp_path / "professions.txt").unlink()
    with pytest.raises(InputError, match=r"professions\.json or professions\.txt"):
        BiasLists.read(tmp_path)


@pytest.mark.real
def test_lists_of_the_authors() -> None:
    result = BiasLists.read(real("debiaswe"))
    assert (len(result.definitional), len(result.equalise), len(result.specific)) == (10, 52, 1441)
    assert len(result.professions) == len(result.stereotypes) == 320 and result.definitional[0] == ["woman", "man"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"she": "he"}, "not a list, but dict"),
        ([], "has no words"),
        ([["she", "he"], []], r"entry 2 \[\]"),
        ([["she", "he"], 3], r"entry 2 \[3\]"),
        ([["she"]], "entry 1 .* is not a pair"),
        ([["she", "she"]], "is not a pair"),
    ],
)
def test_malformed_lists_are_refused(tmp_path: Path, content: object, message: str) -> None:
    path = tmp_path / "pairs.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_word_sets(path)


def test_other_malformed_lists_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_words(tmp_path / "none.txt")
    (tmp_path / "bytes.txt").write_bytes(b"caf\xe9\n")
    with pytest.raises(InputError, match="not UTF-8"):
        read_words(tmp_path / "bytes.txt")
    (tmp_path / "jobs.txt").write_text("nurse 0 low\n", encoding="utf-8")
    with pytest.raises(InputError, match="stereotype score"):
        read_stereotypes(tmp_path / "jobs.txt")
