"""Scenes: a vector of facts about microworld, and every sentence that describes it.

A scene is a set of answers. Its vector has one block per question: one-hot for an answer, zero for no answer (the same
form as the image attributes of a captioner: Wu et al. 2016, "What value do explicit high level concepts have in vision
to language problems?").

    question     answers                                     example
    agent        animals and persons                         agent=dog
    agents       one | many                                  agents=many
    agent_is     adjectives, or none                         agent_is=big
    deed         verbs                                       deed=chase
    time         present | past | progressive | future       time=past
    denied       yes, or none                                denied=yes
    patient      nouns, or none                              patient=cat
    patients     one | many, or none                         patients=one
    patient_is   adjectives, or none                         patient_is=old
    manner       adverbs, or none                            manner=quickly
    where        in | near | behind | to, or none            where=near
    place        places, or none                             place=garden

The sentence *the big dogs did not chase the old cat quickly .* describes the example, and so do three further
sentences: whether a thing is definite (the) or not (a, an, some) is not part of the scene, so any choice is right.
Scenes are drawn by the square root of the grammar's weights, and each of their sentences is a sentence of the grammar.
Validation and test have pairs of agent and deed that are never in train: every word is known, but the combination is
new.

On disk:

    corpus.json                                         {"format": 1, "size": of the lexicon}
    train.parquet, validation.parquet, test.parquet     a column per question, "" for no answer, and `sentence`
"""

import zlib
from bisect import bisect_right
from collections.abc import Callable
from functools import cache
from itertools import accumulate, product
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, get_args

import pyarrow as pa
from pydantic import Field

from langladder.corpora import rules  # noqa: F401 - registers the productions for checking sentences
from langladder.corpora.lexicon import Noun, Size, article
from langladder.corpora.rules.clauses import ADJECTIVE, NEGATED, PREPOSITIONS, forms
from langladder.corpora.world import Weighted, World, favour, numbered, world, zipf
from langladder.ground.artefacts import FORMAT_VERSION, read_json, write_json
from langladder.ground.errors import InputError
from langladder.ground.schema import Config
from langladder.text.storage.shards import SPLITS
from langladder.text.storage.tables import read_table, write_table

SCENES = {"tiny": 3_000, "small": 40_000, "base": 100_000}
MOST_HELD_OUT = 1_000  # scenes in validation and in test, each
FOLDS = 10  # shares of the pairs of agent and deed: first test, then validation
NUMBERS = {"s": "one", "p": "many"}
TIMES = {"present": 0.3, "past": 0.3, "progressive": 0.25, "future": 0.15}
EVENNESS = 0.5  # exponent of the grammar's weights; with 1, a rare word is in too few scenes to be learnt
AT_A_PLACE, IN_A_MANNER = 0.45, 0.3  # shares of the scenes with these details
FRAMES = ("stay", "move", "act", "use")
QUESTIONS = (
    *("agent", "agents", "agent_is", "deed", "time", "denied"),
    *("patient", "patients", "patient_is", "manner", "where", "place"),
)


class SceneConfig(Config):
    """Settings of the corpus."""

    size: Size = "small"
    """Size of the lexicon, and of the corpus if the number of scenes is not set."""
    seed: int = Field(default=1, ge=0)
    scenes: int | None = Field(default=None, ge=100)
    """Number of scenes, including held-out ones."""

    @property
    def count(self) -> int:
        """Scenes over all splits."""
        return SCENES[self.size] if self.scenes is None else self.scenes


class Scene(NamedTuple):
    """The answers, "" for none; singular and base forms."""

    agent: str
    agents: str
    agent_is: str
    deed: str
    time: str
    denied: str = ""
    patient: str = ""
    patients: str = ""
    patient_is: str = ""
    manner: str = ""
    where: str = ""
    place: str = ""

    def facts(self) -> list[str]:
        """The facts of the scene, in the order of the blocks: agent=dog, agents=many, …"""
        return [f"{question}={answer}" for question, answer in zip(QUESTIONS, self, strict=True) if answer]


class Described(NamedTuple):
    """A scene and one of its sentences."""

    scene: Scene
    sentence: str


@cache
def all_facts(size: Size) -> tuple[str, ...]:
    """The names of the vector's entries, block by block."""
    lexicon = world(size).lexicon
    adjectives, numbers = list(lexicon.adjectives), list(NUMBERS.values())
    answers: dict[str, list[str]] = {
        "agent": [noun.singular for noun in lexicon.nouns.values() if noun.kind in ("animal", "person")],
        "agents": numbers,
        "agent_is": adjectives,
        "deed": [verb.base for verb in lexicon.verbs.values() if verb.frame in FRAMES],
        "time": list(TIMES),
        "denied": ["yes"],
        "patient": list(lexicon.nouns),
        "patients": numbers,
        "patient_is": adjectives,
        "manner": [" ".join(adverb.source) for adverb in lexicon.adverbs["manner"]],
        "where": [*(english for english, _, _ in PREPOSITIONS), "to"],
        "place": [noun.singular for noun in lexicon.nouns.values() if noun.kind == "place"],
    }
    return tuple(f"{question}={answer}" for question in QUESTIONS for answer in answers[question])


def generate_scenes(config: SceneConfig) -> dict[str, list[Described]]:
    """Draw scenes, each with one of its sentences: train, validation and test.

    Validation and test have each scene once, and only words that are in train. Same settings, same scenes on any
    machine.
    """
    rng, artist = Random(f"{config.seed} scenes"), _Artist(world(config.size))
    train: list[Described] = []
    held_out: dict[str, dict[Scene, str]] = {"validation": {}, "test": {}}
    for _ in range(config.count):
        scene = artist.draw(rng)
        sentence = rng.choice(sentences(artist.world, scene))
        split = split_of(scene)
        if split == "train":
            train.append(Described(scene, sentence))
        elif len(held_out[split]) < MOST_HELD_OUT:
            held_out[split].setdefault(scene, sentence)
    known = {word for example in train for word in example.sentence.split()}
    return {"train": train} | {
        split: [Described(*pair) for pair in scenes.items() if known.issuperset(pair[1].split())]
        for split, scenes in held_out.items()
    }


def split_of(scene: Scene) -> str:
    """The split of this pair of agent and deed, from a checksum, the same for every seed."""
    fold = zlib.crc32(f"{scene.agent} {scene.deed}".encode()) % FOLDS
    return {0: "test", 1: "validation"}.get(fold, "train")


# -- sentences -----------------------------------------------------------------------------------------------------


def phrases(world_: World, scene: Scene) -> dict[str, tuple[str, ...]]:
    """Question → the words of the answer, in the order of the sentence; they include number, time and negation."""
    lexicon = world_.lexicon
    number = {name: letter for letter, name in NUMBERS.items()}
    positive, negative, _ = forms(lexicon.verbs[scene.deed], number[scene.agents], scene.time)
    said: dict[str, tuple[str, ...]] = {
        "agent_is": (scene.agent_is,),
        "agent": (lexicon.nouns[scene.agent].form(number[scene.agents]),),
        "deed": negative if scene.denied else positive,
        "patient_is": (scene.patient_is,),
        "patient": (lexicon.nouns[scene.patient].form(number[scene.patients]),) if scene.patient else (),
        "where": (scene.where,),
        "place": (scene.place,),
        "manner": tuple(scene.manner.split()),
    }
    return {question: words for question, words in said.items() if any(words)}


def sentences(world_: World, scene: Scene) -> list[str]:
    """All sentences that describe the scene: one for each choice of the determiners."""
    said = phrases(world_, scene)
    parts: list[list[tuple[str, ...]]] = [_noun_phrase(said, "agent", scene.agents), [said["deed"]]]
    if scene.patient:
        parts.append(_noun_phrase(said, "patient", scene.patients))
    if scene.place:
        parts += [[said["where"]], _noun_phrase(said, "place", "one")]
    parts.append([said.get("manner", ())])
    return [" ".join(word for part in chosen for word in part) + " ." for chosen in product(*parts)]


def _noun_phrase(said: dict[str, tuple[str, ...]], who: str, number: str) -> list[tuple[str, ...]]:
    words = (*said.get(f"{who}_is", ()), *said[who])
    return [("the", *words), (("some" if number == "many" else article(words[0])), *words)]


def recovered(world_: World, scene: Scene, words: list[str]) -> dict[str, bool]:
    """Question → whether a caption contains its answer, each after the previously found one."""
    found, position = {}, 0
    for question, wanted in phrases(world_, scene).items():
        ends = [i + len(wanted) for i in range(position, len(words)) if tuple(words[i : i + len(wanted)]) == wanted]
        found[question] = bool(ends)
        position = ends[0] if ends else position
    return found


# -- drawing -------------------------------------------------------------------------------------------------------


class _Artist:
    """Draws scenes by the flattened weights of the grammar; tables of weights are cached."""

    def __init__(self, world_: World) -> None:
        self.world = world_
        self._tables: dict[tuple[str, str], tuple[list[Any], list[float]]] = {}

    def draw(self, rng: Random) -> Scene:
        world_ = self.world
        kind = rng.choice(("animal", "person"))
        agent, agents = self._pick(rng, "agent", kind, lambda: _numbered(favour(world_.nouns((kind,)))))
        deed = self._pick(rng, "deed", agent, lambda: self._deeds(agent))
        time = self._pick(rng, "time", "", lambda: list(TIMES.items()))
        scene = Scene(agent, NUMBERS[agents], self._adjective(rng, agent), deed, time)
        facts = {"denied": "yes"} if rng.random() < NEGATED else {}
        verb, chance = world_.lexicon.verbs[deed], rng.random()
        if verb.frame in ("act", "use"):
            patient, number = self._pick(rng, "patient", deed, lambda: _numbered(world_.objects(verb)))
            facts |= {"patient": patient, "patients": NUMBERS[number], "patient_is": self._adjective(rng, patient)}
        elif verb.frame == "move":
            facts |= {"where": "to", "place": self._pick(rng, "goal", deed, lambda: _named(world_.objects(verb)))}
        elif chance < AT_A_PLACE:
            where = self._pick(rng, "where", "", lambda: [(english, share) for english, _, share in PREPOSITIONS])
            facts |= {"where": where, "place": self._pick(rng, "place", agent, lambda: self._places(agent))}
        if chance > 1 - IN_A_MANNER:
            facts["manner"] = self._pick(rng, "manner", deed, lambda: self._manners(deed))
        return scene._replace(**facts)

    def _deeds(self, agent: str) -> list[tuple[str, float]]:
        verbs = self.world.verbs(self.world.beings[agent])
        return [(verb.base, weight) for verb, weight in verbs if verb.frame in FRAMES]

    def _adjective(self, rng: Random, noun: str) -> str:
        if rng.random() > ADJECTIVE:
            return ""
        adjective: str = self._pick(rng, "adjective", noun, lambda: self._adjectives(noun))
        return adjective

    def _adjectives(self, noun: str) -> list[tuple[str, float]]:
        found = self.world.adjectives(self.world.lexicon.nouns[noun])
        return [(adjective.positive, weight) for adjective, weight in found] or [("", 1.0)]

    def _places(self, agent: str) -> list[tuple[str, float]]:
        places = favour(self.world.nouns(("place",)), "place", self.world.beings[agent].lemma)
        return _named(places)

    def _manners(self, deed: str) -> list[tuple[str, float]]:
        adverbs = favour(zipf(self.world.lexicon.adverbs["manner"]), "manner", deed)
        return [(" ".join(adverb.source), weight) for adverb, weight in adverbs]

    def _pick(self, rng: Random, what: str, of: str, weights: Callable[[], list[tuple[Any, float]]]) -> Any:
        if (what, of) not in self._tables:
            items, shares = zip(*weights(), strict=True)
            self._tables[what, of] = list(items), list(accumulate(share**EVENNESS for share in shares))
        items_, bounds = self._tables[what, of]
        return items_[min(bisect_right(bounds, rng.random() * bounds[-1]), len(items_) - 1)]


def _named(nouns: Weighted[Noun]) -> list[tuple[str, float]]:
    return [(noun.singular, weight) for noun, weight in nouns]


def _numbered(nouns: Weighted[Noun]) -> list[tuple[tuple[str, str], float]]:
    return [((noun.singular, number), weight) for noun, number, weight in numbered(nouns)]


# ---- on disk


SCENE_FOLDER = pa.schema([(name, pa.string()) for name in (*QUESTIONS, "sentence")])
MUST = ("agent", "agents", "deed", "time")
"""Questions that have an answer in every scene."""


class Scenes(NamedTuple):
    """A corpus of scenes: the size of its lexicon, and train, validation and test."""

    size: Size
    splits: dict[str, list[Described]]


def write_scenes(config: SceneConfig, folder: Path) -> dict[str, Any]:
    """Draw scenes into a folder. Same settings, same bytes.

    Returns:
        The number of scenes of each split, for the data report.
    """
    splits = generate_scenes(config)
    for split, examples in splits.items():
        columns = [[one.scene[place] for one in examples] for place in range(len(QUESTIONS))]
        table = pa.table([*columns, [one.sentence for one in examples]], schema=SCENE_FOLDER)
        write_table(folder / f"{split}.parquet", table)
    write_json(folder / "corpus.json", {"format": FORMAT_VERSION, "size": config.size})
    return {"splits": {split: {"scenes": len(examples)} for split, examples in splits.items()}}


def read_scenes(folder: Path) -> Scenes:
    """Read what `write_scenes` wrote.

    Raises:
        InputError: a file is missing or damaged, has another format version, or has a row that is not a scene of the
            lexicon (the message names file and row).
    """
    path = folder / "corpus.json"
    about = read_json(path)
    if not isinstance(about, dict) or about.get("format") != FORMAT_VERSION or about.get("size") not in get_args(Size):
        raise InputError(
            f'{path}: needs "format": {FORMAT_VERSION} and a "size" of {", ".join(get_args(Size))}; the stage `corpus` '
            "writes this file: run it again"
        )
    size: Size = about["size"]
    splits = {split: _read_split(folder / f"{split}.parquet", size) for split in SPLITS}
    known = {word for one in splits["train"] for word in one.sentence.split()}
    for split in SPLITS[1:]:
        for row, one in enumerate(splits[split]):
            if strange := set(one.sentence.split()) - known:
                raise InputError(f"{folder / split}.parquet, row {row}: {min(strange)!r} is not a word of train")
    return Scenes(size, splits)


def _read_split(path: Path, size: Size) -> list[Described]:
    table = read_table(path, SCENE_FOLDER)
    try:
        columns = [column.to_pylist() for column in table.cast(SCENE_FOLDER).columns]
    except pa.ArrowException as error:
        raise InputError(f"{path}: columns of scenes are text ({str(error)[:100]})") from error
    if not table.num_rows:
        raise InputError(f"{path}: holds no scenes; draw more (scenes in conf/scenes)")
    known, found = set(all_facts(size)), []
    for row, (*answers, sentence) in enumerate(zip(*columns, strict=True)):
        scene = Scene(*answers)
        if None in scene or not (sentence or "").split() or not known.issuperset(scene.facts()):
            raise InputError(f"{path}, row {row}: no scene of a world of size {size} with its sentence")
        must = (*MUST, "patients") if scene.patient else MUST
        if lacking := [name for name in must if not getattr(scene, name)]:
            raise InputError(f"{path}, row {row}: the scene has no answer to {lacking[0]}")
        found.append(Described(scene, sentence))
    return found
