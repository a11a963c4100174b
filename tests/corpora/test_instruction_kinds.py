"""microworld's instructions: the draws, the splits, and preferences with noise."""

import re
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from langladder.corpora.instructions.answers import is_line
from langladder.corpora.instructions.demonstrations import (
    InstructionsConfig,
    counts,
    demonstrations,
    write_instructions,
)
from langladder.corpora.instructions.judge import NoiseConfig, gold_rewards, preferences, ranked
from langladder.corpora.instructions.requests import KINDS, REWORDED, UNSEEN, rows
from langladder.text.labelled.instructions import INSTRUCTION_SPLITS, Dialogue, Message, read_dialogues
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig
from microworld.corpora import SIZES, draw_text
from microworld.lexicon import table

TINY = InstructionsConfig(size="tiny")
SEEN = set(KINDS) - UNSEEN


@pytest.fixture(scope="module")
def drawn() -> dict[str, list[Dialogue]]:
    return {split: demonstrations(TINY, split, count) for split, count in counts(TINY).items()}


# ---- what is drawn


def test_every_split_has_every_kind_that_it_should(drawn: dict[str, list[Dialogue]]) -> None:
    for split in ("train", "validation", "test"):
        kinds = Counter(dialogue.kind for dialogue in drawn[split])
        assert set(kinds) == SEEN
        assert len(drawn[split]) == counts(TINY)[split]
    assert set(Counter(dialogue.kind for dialogue in drawn["train"]).values()) == {35}
    assert {dialogue.kind for dialogue in drawn["unseen"]} == UNSEEN | {REWORDED}


def test_held_out_splits_stay_small_where_many_are_drawn() -> None:
    assert counts(InstructionsConfig(examples=1_000)) == {"train": 700, "validation": 100, "test": 100, "unseen": 100}
    many = counts(InstructionsConfig())
    assert many == {"train": 37_000, "validation": 1_000, "test": 1_000, "unseen": 1_000}


def request_of(dialogue: Dialogue) -> str:
    """What is asked, without its phrasing."""
    return str(dialogue.asked)


def test_no_held_out_request_is_in_train(drawn: dict[str, list[Dialogue]]) -> None:
    """Except kinds whose subject is only in the text."""
    requests = {split: {request_of(dialogue) for dialogue in dialogues} for split, dialogues in drawn.items()}
    for split in ("validation", "test", "unseen"):
        shared = requests["train"] & requests[split]
        kinds = {text.split('"kind": "')[1].split('"')[0] for text in shared}
        assert kinds <= {"fact_word", "yes_no", "answer", "refuse", "mood"}
    texts = {split: {dialogue.prompt[-1].text for dialogue in dialogues} for split, dialogues in drawn.items()}
    for item, other in pairwise(INSTRUCTION_SPLITS):
        assert not texts[item] & texts[other]
    assert not texts["train"] & (texts["test"] | texts["unseen"])
    assert {split: len(text) for split, text in texts.items()} == counts(TINY)  # nothing occurs twice


def test_held_out_facts_are_in_no_instruction_of_train() -> None:
    """Neither asked for in a word, nor in a claim that may be true."""
    patterns = [
        (row["relation"], re.escape(text).replace(r"\{given\}", r"(\w+)").replace(r"\{right\}", r"\w+"))
        for row in rows("facts")
        if row["claim"]
        for text in (row["question"], row["claim"])
    ]
    facts: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for split, count in (("train", 490), ("validation", 84), ("test", 84)):
        for demonstration in demonstrations(TINY, split, count):
            if demonstration.kind in ("fact_word", "yes_no"):
                text = demonstration.prompt[-1].text
                ((relation, subject),) = {
                    (relation, match[1]) for relation, pattern in patterns if (match := re.search(pattern, text))
                }
                facts[split].add((relation, subject))
    assert min(map(len, facts.values())) > 5
    assert not facts["train"] & (facts["validation"] | facts["test"])


def test_no_alone_answers_half_of_the_claims() -> None:
    """Though a claim is drawn once, and nearly all that could be drawn are false."""
    rng = Random(1)
    drawn = (KINDS["yes_no"].draw(rng) for _ in range(5000))
    claims = {item.slots["claim"]: item.answer for item in drawn}
    answers = Counter(claims.values())
    assert len(claims) > 300 and 0.45 < answers["yes"] / len(claims) < 0.55


@pytest.mark.parametrize("kind", ["plural", "done", "agreement"])
def test_a_line_is_changed_into_another_line(kind: str) -> None:
    rng = Random(1)
    for _ in range(60):
        request = KINDS[kind].draw(rng)
        before, right = (tuple(request.wanted[name].split()) for name in ("given", "right"))
        assert is_line(right) and is_line(before) == (kind != "agreement")
        different = [(item, other) for item, other in zip(before, right, strict=kind != "done") if item != other]
        assert len(different) == {"agreement": 1, "plural": 3 if before[0] == "this" else 2}.get(kind, len(different))
        assert request.answer == " ".join(right[:-1])


def test_a_question_about_a_story_has_an_answer_there_or_must_be_refused() -> None:
    rng = Random(1)
    for _ in range(200):
        known, unknown = KINDS["answer"].draw(rng), KINDS["refuse"].draw(rng)
        assert known.answer in known.slots["story"]
        question = unknown.slots["question"].removesuffix(" ?").split()
        name, *_, like = story = unknown.slots["story"].removesuffix(" .").split()
        if question[0] == "who":
            assert not {*question[2:], "a"} & {*story} - {"a", "in", "from"} and like not in question
        else:
            assert name not in question
    wrong = KINDS["answer_sentence"].draw(rng)
    assert wrong.wanted["story"] == wrong.key


def test_a_mood_is_plain() -> None:
    rng = Random(1)
    moods = {row["word"]: row["mood"] for name in ("looks", "feelings", "manners") for row in table(name)}
    moods |= {row["past"]: row["mood"] for name in ("takes", "deeds") for row in table(name)}
    for _ in range(100):
        request = KINDS["mood"].draw(rng)
        mood_counts = Counter(moods[word] for word in request.slots["sentence"].split() if word in moods)
        assert mood_counts.most_common(1)[0][0] == request.answer


def test_phrasings_vary_and_one_is_kept_for_unseen_instructions(drawn: dict[str, list[Dialogue]]) -> None:
    for kind in SEEN:
        phrasings = KINDS[kind].phrasings
        assert len(phrasings) == len(set(phrasings)) >= 3
        kept = max(KINDS[kind].reworded.replace("{", "}").split("}")[::2], key=len)  # its longest part between gaps
        others = [part for text in phrasings for part in text.replace("{", "}").split("}")[::2]]
        assert not any(kept in part for part in others), kind
        assert not any(kept in item.prompt[-1].text for item in drawn["train"] if item.kind == kind)
    reworded = [item for item in drawn["unseen"] if item.kind == REWORDED]
    assert len({str(item.asked).split('"kind": ')[1].split(",")[0] for item in reworded}) >= 6


def test_same_settings_same_dialogues(tmp_path: Path) -> None:
    config = InstructionsConfig(size="tiny", examples=150)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        facts = write_instructions(config, tmp_path / name)
    assert facts["splits"] == {name: {"dialogues": count} for name, count in counts(config).items()}
    assert sum(facts["kinds"]["train"].values()) == 105
    for split in INSTRUCTION_SPLITS:
        item, two = (tmp_path / name / f"{split}.parquet" for name in ("one", "two"))
        assert item.read_bytes() == two.read_bytes()
        assert read_dialogues(item) == demonstrations(config, split, counts(config)[split])
    other = config.model_copy(update={"seed": 2})
    assert demonstrations(other, "train", 20) != demonstrations(config, "train", 20)
    assert demonstrations(config, "train", 20) == demonstrations(config, "train", 40)[:20]


def test_there_are_fewer_where_the_world_has_no_more() -> None:
    result = demonstrations(TINY, "unseen", 700)
    kinds = Counter(dialogue.kind for dialogue in result)
    assert kinds["fact_reversed"] < kinds["choose"]
    assert len({dialogue.prompt for dialogue in result}) == len(result)


def test_tokenizers_of_the_text_know_every_word(drawn: dict[str, list[Dialogue]]) -> None:
    """Instructions have words of their own (translate, esperanto), which are cut into known pieces."""
    lines = draw_text(1, "train", 0, SIZES["tiny"].stories[0])["text"].to_pylist()
    for kind, size in (("bpe_bytes", 600), ("wordpiece", 600)):
        tokenizer = train_tokenizer(lines, TokenizerConfig(kind=kind, vocab_size=size))  # type: ignore[arg-type]
        for dialogue in drawn["train"] + drawn["unseen"]:
            texts = [dialogue.prompt[-1].text, str(dialogue.response)]
            ids = tokenizer.encode_lines(texts)
            assert "<unk>" not in tokenizer.decode([token for item in ids for token in item])
            assert sum(map(len, ids)) + 4 <= 64  # BOS, the two markers and EOS: the context of size tiny
            if kind == "bpe_bytes":
                assert [tokenizer.decode(item) for item in ids] == texts


# ---- preferences


PROMPT = Dialogue((Message("user", "say a ."),), "letters", "{}")


def by_length(dialogues: object) -> list[float]:
    return [len(str(dialogue.response)) / 10 for dialogue in dialogues]  # type: ignore[attr-defined]


def test_golden_ranking_without_noise() -> None:
    samples = [
        (PROMPT, ["aa", "aaaa", "bb", "a", "aa ", ""]),
        (PROMPT, ["aa", "bb"]),
        (PROMPT, ["aa"]),
        (PROMPT.answered("aaaaaaa"), ["a", "aa"]),
    ]
    first, last = preferences(samples, by_length, NoiseConfig(), seed=1)
    assert first.responses == ("aa", "aaaa", "bb", "a")  # no copies, nothing empty
    assert first.ranks == (2, 1, 2, 3)  # equal rewards share a rank
    assert len(first.pairs()) == 5  # 4 · 3 / 2, less the tie
    assert (first.prompt, first.kind, first.asked) == (PROMPT.messages, "letters", "{}")
    assert (last.prompt, last.ranks) == (PROMPT.messages, (2, 1))


def shares(noise: NoiseConfig, draws: int = 4000) -> dict[tuple[int, int], float]:
    """How often each pair of rewards 0.9, 0.5, 0.4 comes in the wrong order."""
    rng, wrong = Random(1), Counter[tuple[int, int]]()
    for _ in range(draws):
        ranks = ranked([0.9, 0.5, 0.4], noise, rng)
        wrong.update((i, j) for i in range(3) for j in range(i + 1, 3) if ranks[i] > ranks[j])
    return {(i, j): wrong[i, j] / draws for i in range(3) for j in range(i + 1, 3)}


def test_golden_noise_of_bradley_and_terry() -> None:
    result = shares(NoiseConfig(kind="temperature", amount=0.2))
    # 1 − σ(Δr / T): Δr / T = 2, 2.5, 0.5
    expected = {(0, 1): 0.1192, (0, 2): 0.0759, (1, 2): 0.3775}
    assert result == pytest.approx(expected, abs=0.025)


def test_golden_noise_of_flips() -> None:
    # φ = 1/4; the inversions of three items: 0 (1), 1 (2), 2 (2), 3 (1); Z = 1 + 2φ + 2φ² + φ³ = 1.640625
    # P(first two swapped) = (φ + φ² + φ³) / Z (231: φ², 213: φ, 321: φ³) = 0.2; P(first and last) = (2φ² + φ³) / Z
    result = shares(NoiseConfig(kind="flips", amount=0.2))
    assert result == pytest.approx({(0, 1): 0.2, (0, 2): 0.0857, (1, 2): 0.2}, abs=0.025)


def test_noise_at_its_ends() -> None:
    rewards = [0.5, 0.9, 0.5, 0.1]
    for exact in (NoiseConfig(), NoiseConfig(kind="temperature", amount=0), NoiseConfig(kind="flips", amount=0)):
        assert ranked(rewards, exact, Random(1)) == (2, 1, 2, 3)
    assert ranked(rewards, NoiseConfig(kind="flips", amount=1.0), Random(1)) == (2, 3, 2, 1)


def test_noise_depends_on_seed_and_index_only() -> None:
    noise = NoiseConfig(kind="temperature", amount=1.0)
    samples = [(PROMPT, ["a" * length for length in range(1, 7)])] * 4
    item, again, other = (preferences(samples, by_length, noise, seed) for seed in (1, 1, 2))
    assert item == again != other
    assert item[:2] == preferences(samples[:2], by_length, noise, 1)
    assert item[0].ranks != item[1].ranks


def test_gold_preferences_between_right_and_wrong(drawn: dict[str, list[Dialogue]]) -> None:
    samples = [(item, ["the", str(item.response), f"{item.response} the"]) for item in drawn["validation"][:20]]
    rankings = preferences(samples, gold_rewards, NoiseConfig(), 1)
    assert len(rankings) == 20
    assert {ranking.ranks[1] for ranking in rankings} == {1}
    assert all(ranking.ranks[0] > 1 and ranking.ranks[2] > 1 for ranking in rankings)
