"""The audit of a bias: figures by hand, before and after debiasing, real lists."""

import json
from pathlib import Path

import numpy as np
import pytest
from real_data import real

from langladder.embeddings.base import WordVectors
from langladder.embeddings.debias import bias_subspace
from langladder.embeddings.postprocess import HardDebias, postprocess
from langladder.embeddings.word_lists import BiasLists, microworld_lists, microworld_weat
from langladder.evaluation.bias import analogies, audit, bias_shift, debias_and_audit, explained
from langladder.formats.vector_files import read_vectors

LISTS = BiasLists(
    definitional=[["woman", "man"], ["she", "he"]],
    equalise=[["woman", "man"], ["she", "he"]],
    specific=["actress"],
    professions=["programmer", "homemaker", "clerk", "actress", "astronaut"],
    stereotypes={"programmer": 0.8, "homemaker": -0.9, "clerk": 0.0, "actress": -1.0, "astronaut": 0.9},
)


def biased() -> WordVectors:
    """Gender along x (woman > 0); programmer and homemaker are alike but for it."""
    table = {
        "woman": [0.6, 0.8, 0],
        "man": [-0.6, 0.8, 0],
        "she": [0.8, 0.6, 0],
        "he": [-0.8, 0.6, 0],
        "actress": [0.8, -0.6, 0],
        "programmer": [-0.28, 0, 0.96],
        "homemaker": [0.6, 0.08, 0.7959899],
        "clerk": [0, 0.8, 0.6],
        "tree": [0, 0.6, -0.8],
    }
    return WordVectors(list(table), np.array(list(table.values()), dtype=np.float32))


def test_figures_by_hand_golden() -> None:
    vectors = biased()
    direction = bias_subspace(vectors, LISTS.definitional)[0]
    assert direction.tolist() == pytest.approx([1, 0, 0], abs=1e-6)
    result = audit(vectors, direction, LISTS)
    names, values = zip(*result["projections"], strict=True)
    assert names == ("programmer", "clerk", "homemaker")  # actress is one by meaning, astronaut has no vector
    assert values == pytest.approx((-0.28, 0, 0.6), abs=1e-5)
    assert result["direct_bias"] == pytest.approx(0.88 / 3, abs=1e-5)
    assert (result["words"], result["covered"]) == (4, 3)
    assert result["stereotype"]["spearman"] == 1.0 and result["stereotype"]["words"] == 3
    assert result["weat"] is None
    assert explained(vectors, LISTS.definitional)[0] == pytest.approx(1, abs=1e-6)


def test_golden_shift_of_a_step_of_debiasing(tmp_path: Path) -> None:
    """x of programmer −.28, clerk 0, homemaker .6 before, all 0 after; WEAT by hand; no figure without words."""
    parts = {"definitional_pairs": "woman man\nshe he", "equalize_pairs": "woman man\nshe he", "specific": "actress"}
    parts |= {"professions": "programmer\nhomemaker\nclerk\nastronaut", "weat": ": jobs\nX: homemaker clerk\n"}
    parts["weat"] += "Y: programmer tree\nA: woman she\nB: man he\n: none\nX: a b\nY: c d\nA: e\nB: f\n"
    for name, text in parts.items():
        (tmp_path / f"{name}.txt").write_text(text + "\n")
    step = HardDebias(step="hard_debias", lists=str(tmp_path))
    result = bias_shift(biased(), postprocess(biased(), [step]), step)
    assert result.direct is not None and result.direct.words == 3
    assert result.direct.before == pytest.approx(0.88 / 3, abs=1e-5) and result.direct.after == 0
    # s = 2 · .7 x: homemaker .84, clerk 0, programmer −.392, tree 0; d = (.42 + .196) / std(.84, 0, −.392, 0)
    (jobs,) = result.weat
    assert jobs.name == "jobs" and jobs.before == pytest.approx(0.616 / np.std([0.84, 0, -0.392, 0], ddof=1), abs=1e-4)
    assert jobs.after is None  # all of its targets were neutralised


def test_microworld_has_lists_of_its_own() -> None:
    words = ["she", "he", "queen", "king", "singer", "baker", "lovely", "stupid"]
    vectors = WordVectors(words, np.random.default_rng(1).normal(size=(8, 5)).astype(np.float32))
    step = HardDebias(step="hard_debias")
    result = bias_shift(vectors, postprocess(vectors, [step]), step)
    assert result.direct is not None and result.direct.words == 2
    assert result.direct.before > 0.01 and result.direct.after < 1e-6 and not result.weat  # one woman, one man
    assert set(microworld_weat()["women"]) == {woman for woman, _ in microworld_lists().equalise}
    assert len(microworld_lists().professions) == 30 and "emma" in microworld_lists().specific


def test_analogies_tell_where_the_word_itself_would_win() -> None:
    result = analogies(biased(), LISTS.definitional, ["programmer", "clerk", "nobody"])
    assert result is not None and result["pair"] == ["man", "woman"]
    programmer, clerk = result["answers"]
    # −.28 + 1.2, 0, .96
    assert programmer["answer"] == "homemaker" and not programmer["unchanged"] and clerk["word"] == "clerk"
    small = analogies(biased(), [["she", "woman"]], ["clerk"])  # .2, −.2, 0 lead not away from clerk
    assert small is not None and small["answers"][0]["unchanged"] and small["answers"][0]["answer"] != "clerk"
    assert analogies(biased(), [["queen", "king"]], ["clerk"]) is None


def test_debiasing_takes_the_bias_away(tmp_path: Path) -> None:
    weat = tmp_path / "weat.txt"
    weat.write_text(
        ": jobs\nhome: homemaker actress\nscreen: programmer clerk\nfemale: woman she\nmale: man he\n", encoding="utf-8"
    )
    after, result = debias_and_audit(biased(), LISTS, weat=weat)
    assert result["before"]["direct_bias"] > 0.25 and result["after"]["direct_bias"] == 0
    assert result["after"]["stereotype"]["spearman"] is None  # nothing is left that could rank
    assert [entry["word"] for entry in result["before"]["analogies"]["answers"]] == ["programmer", "clerk", "homemaker"]
    assert [entry["word"] for entry in result["after"]["analogies"]["answers"]] == ["programmer", "clerk", "homemaker"]
    assert result["before"]["weat"][0]["effect_size"] > 1
    assert after.similarity("programmer", "man") == pytest.approx(after.similarity("programmer", "woman"), abs=1e-6)
    json.dumps(result, allow_nan=False)


@pytest.mark.real
def test_male_and_female_terms_are_equally_near_to_science_and_arts_afterwards() -> None:
    vectors = read_vectors(real("weat-wefe/weat_w2v____old.txt.gz"))
    lists = BiasLists.read(real("debiaswe"))
    _, result = debias_and_audit(vectors, lists, weat=real("weat-wefe/WEAT.json"))
    before, after = (
        {entry["name"].split()[0]: entry["effect_size"] for entry in result[part]["weat"]}
        for part in ("before", "after")
    )
    assert result["explained"][0] > 0.5  # one direction says most of what sets the pairs apart
    for number in "78":  # terms of gender lose their side
        assert before[number] > 0.9 and after[number] < 0.2
    for number in "129":  # what has nothing to do with gender stays
        assert after[number] == pytest.approx(before[number], abs=0.02)
