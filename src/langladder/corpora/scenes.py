"""Scenes: a vector of facts about a line of microworld's stories, and every line that describes it.

A scene is a set of answers. Its vector has one block per question: one-hot for an answer, zero for no answer (the same
form as the image attributes of a captioner: Wu et al. 2016, "What value do explicit high level concepts have in vision
to language problems?").

    question     answers                                          example
    agent        he, she, persons, things and animals             agent=she
    agents       one | many                                       agents=one
    agent_is     adjectives, or none
    wanted       yes, or none                                     wanted=yes
    deed         verbs, or none                                   deed=wash
    patient      he, she, things and animals, or none             patient=plate
    patients     one | two | many, or none                        patients=many
    patient_is   adjectives, or none                              patient_is=lovely
    state        adjectives and feelings, or none
    manner       adverbs, or none                                 manner=gladly
    place        places, or none

The line *she wanted to wash the lovely plates gladly .* describes the example, and so does the line with *these*: the
determiner is not part of the scene, so any choice is right. Scenes are read off the derivations of drawn lines, by the
engine that draws them; lines that say more (names, clauses, comparisons) are no scenes. Validation and test have pairs
of deed (or state) and what it is done to (or who does it) that are never in train: every word is known, but the
combination is new.

On disk:

    corpus.json                                         {"format": 1}
    train.parquet, validation.parquet, test.parquet     a column per question, "" for no answer, and `sentence`
"""

import zlib
from collections.abc import Sequence
from functools import cache
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa
from pydantic import Field

from langladder.ground.artefacts import FORMAT_VERSION, read_json, write_json
from langladder.ground.errors import InputError
from langladder.ground.schema import Config
from langladder.text.storage.shards import SPLITS
from langladder.text.storage.tables import read_table, write_table
from microworld.corpora import Size
from microworld.engine import Reader, world
from microworld.lexicon import table

SCENES: dict[Size, int] = {"tiny": 3_000, "small": 20_000, "medium": 40_000, "base": 100_000}
MOST_HELD_OUT = 1_000  # scenes in validation and in test, each
FOLDS = 10  # shares of the pairs of deed and patient: first test, then validation
QUESTIONS = (
    *("agent", "agents", "agent_is", "wanted", "deed"),
    *("patient", "patients", "patient_is", "state", "manner", "place"),
)
BEFORE = (
    "john is a farmer from london who likes books .",
    "mary is a farmer from paris who likes tea .",
)
"""What was said before the line of a scene, so that "he" and "she" are somebody."""
PRONOUNS = {"he": ("him", "his"), "she": ("her", "her")}
NUMBERS = {"singular": "one", "plural": "many"}
FORMS = {"one": "singular", "two": "plural", "many": "plural"}
DETERMINERS = {"one": ("the", "this"), "two": ("two",), "many": ("the", "these")}
OPENINGS = (*PRONOUNS, "the", "this", "these")
"""The first words of the lines of scenes."""
DEEDS = {
    # class of words → table, the column that names the deed, that of its form after a person
    "VERB": ("verbs", "infinitive", "past"),
    "TAKE": ("takes", "past", "past"),
    "DEED": ("deeds", "past", "past"),
    "ROLEVERB": ("role_verbs", "past", "past"),
    "ACT": ("acts", "plural", ""),
}


class SceneConfig(Config):
    """Settings of the corpus."""

    size: Size = "small"
    """Size of the corpus if the number of scenes is not set."""
    seed: int = Field(default=1, ge=0)
    scenes: int | None = Field(default=None, ge=100)
    """Number of scenes, including held-out ones."""

    @property
    def count(self) -> int:
        """Scenes over all splits."""
        return SCENES[self.size] if self.scenes is None else self.scenes


class Scene(NamedTuple):
    """The answers, "" for none; singular and base forms."""

    agent: str = ""
    agents: str = ""
    agent_is: str = ""
    wanted: str = ""
    deed: str = ""
    patient: str = ""
    patients: str = ""
    patient_is: str = ""
    state: str = ""
    manner: str = ""
    place: str = ""

    def facts(self) -> list[str]:
        """The facts of the scene, in the order of the blocks: agent=cow, agents=many, …"""
        return [f"{question}={answer}" for question, answer in zip(QUESTIONS, self, strict=True) if answer]


class Described(NamedTuple):
    """A scene and one of its lines."""

    scene: Scene
    sentence: str


@cache
def all_facts() -> tuple[str, ...]:
    """The names of the vector's entries, block by block."""
    looks, nouns = _column("looks", "word"), _column("nouns", "singular")
    persons = [*PRONOUNS, *_column("roles", "male"), *_column("roles", "female")]
    answers = {
        "agent": [*persons, *nouns],
        "agents": [*NUMBERS.values()],
        "agent_is": looks,
        "wanted": ["yes"],
        "deed": [deed for name, column, _ in DEEDS.values() for deed in _column(name, column)],
        "patient": [*PRONOUNS, *nouns, *_column("role_things", "word")],
        "patients": [*DETERMINERS],
        "patient_is": looks,
        "state": [*looks, *_column("feelings", "word"), *_column("plain", "word")],
        "manner": _column("manners", "word"),
        "place": _column("places", "word"),
    }
    return tuple(f"{question}={answer}" for question in QUESTIONS for answer in dict.fromkeys(answers[question]))


def _column(name: str, column: str) -> list[str]:
    return [row[column] for row in table(name)]


@cache
def _rows(name: str, column: str) -> dict[str, dict[str, str]]:
    """Word of a column → its row."""
    return {row[column]: dict(row) for row in table(name)}


def generate_scenes(config: SceneConfig) -> dict[str, list[Described]]:
    """Draw scenes, each with one of its lines: train, validation and test.

    Validation and test have each scene once, and only words that are in train. Same settings, same scenes on any
    machine.
    """
    rng, drawn = Random(f"{config.seed} scenes"), 0
    train: list[Described] = []
    held_out: dict[str, dict[Scene, str]] = {"validation": {}, "test": {}}
    while drawn < config.count:
        for line in world().draw(rng):
            if drawn == config.count or line.words[0] not in OPENINGS:
                continue
            scene = scene_of(line.words)
            if line.text not in sentences(scene):
                continue
            drawn, split = drawn + 1, split_of(scene)
            if split == "train":
                train.append(Described(scene, line.text))
            elif len(held_out[split]) < MOST_HELD_OUT:
                held_out[split].setdefault(scene, line.text)
    known = {word for example in train for word in example.sentence.split()}
    return {"train": train} | {
        split: [Described(*pair) for pair in scenes.items() if known.issuperset(pair[1].split())]
        for split, scenes in held_out.items()
    }


def split_of(scene: Scene) -> str:
    """The split of this pair of deed and patient, from a checksum, the same for every seed."""
    pair = f"{scene.deed or scene.state} {scene.patient or scene.agent}"
    fold = zlib.crc32(pair.encode()) % FOLDS
    return {0: "test", 1: "validation"}.get(fold, "train")


# -- lines ---------------------------------------------------------------------------------------------------------


def scene_of(words: Sequence[str]) -> Scene:
    """What a line tells, as far as it is one of the stories: reading ends at the first word that cannot come there."""
    readers: list[Reader] = [reader.copy() for reader in _begun()]
    scene: dict[str, str] = {}
    before = ""
    for word in words:
        readers, kind = world().advance(readers, word)
        if not readers:
            break
        _tell(scene, kind, word, before)
        before = word
    return Scene(**scene)


@cache
def _begun() -> list[Reader]:
    return world().begun([line.split() for line in BEFORE])


def _tell(scene: dict[str, str], kind: str, word: str, before: str) -> None:
    """One more word: of its class, after a word."""
    name, _, form = kind.partition(".")
    side = "patient" if "deed" in scene else "agent"
    if name == "word" and word in PRONOUNS:
        scene |= {"agent": word, "agents": "one"}
    elif name == "word" and word in ("him", "her"):
        scene |= {"patient": "he" if word == "him" else "she", "patients": "one"}  # or "her" is whose a thing is
    elif name == "word" and word == "two":
        scene["patients"] = "two"
    elif name == "word" and word == "wanted":
        scene["wanted"] = "yes"
    elif name == "ROLE":
        scene |= {"agent": word, "agents": "one"}
    elif name == "ROLETHING":
        scene |= {"patient": word, "patients": "one"}
    elif name == "NOUN":
        number = "singular" if form == "s" else "plural"
        scene[side] = _rows("nouns", number)[word]["singular"]
        scene.setdefault(f"{side}s", NUMBERS[number])  # or "two" was said
    elif name in DEEDS:
        source, deed, _ = DEEDS[name]
        column = {"past": "past", "inf": "infinitive", "s": "singular", "pl": "plural"}.get(form, "past")
        scene["deed"] = _rows(source, column)[word][deed]
    elif name == "LOOK" and before not in ("is", "are"):
        scene[f"{side}_is"] = word
    elif name in ("LOOK", "FEELING", "PLAIN"):
        scene["state"] = word
    elif name in ("MANNER", "PLACE"):
        scene[name.lower()] = word


def sentences(scene: Scene) -> list[str]:
    """All lines that describe the scene: one for each choice of the determiners; [] if no line does."""
    agents, verb = _agents(scene), _verb(scene)
    patients = _patients(scene) if scene.patient else [""]
    location = f"in the {scene.place}" if scene.place else ""
    choices = product(agents, [verb] if verb else [], patients, [scene.manner], [location], ["."])
    return [" ".join(filter(None, chosen)) for chosen in choices]


def _agents(scene: Scene) -> list[str]:
    if scene.agent in PRONOUNS:
        return [scene.agent]
    return _things(scene.agent, scene.agents, scene.agent_is) or ([f"the {scene.agent}"] if scene.agent else [])


def _verb(scene: Scene) -> str:
    """The verb in the form that the agent needs; "": there is none."""
    thing = scene.agent in _rows("nouns", "singular")
    if scene.state:
        return f"{('is' if scene.agents == 'one' else 'are') if thing else 'was'} {scene.state}"
    if thing:
        act = _rows("acts", "plural").get(scene.deed, {})
        return act.get(FORMS.get(scene.agents, ""), "")
    if scene.wanted:
        return f"wanted to {scene.deed}"
    pasts = (_rows(name, deed).get(scene.deed, {}).get(past) for name, deed, past in DEEDS.values() if past)
    return next(filter(None, pasts), "")


def _patients(scene: Scene) -> list[str]:
    if scene.patient in PRONOUNS:
        return [PRONOUNS[scene.patient][0]]
    if scene.patient in _rows("role_things", "word"):
        his = PRONOUNS["he" if scene.agent in _rows("roles", "male") else "she"][1]
        return [" ".join(filter(None, (his, scene.patient_is, scene.patient)))]
    return _things(scene.patient, scene.patients, scene.patient_is)


def _things(noun: str, number: str, look: str) -> list[str]:
    """Things or animals, with each determiner."""
    form = _rows("nouns", "singular").get(noun, {}).get(FORMS.get(number, ""), "")
    return [" ".join(filter(None, (determiner, look, form))) for determiner in DETERMINERS.get(number, ()) if form]


def recovered(scene: Scene, words: Sequence[str]) -> dict[str, bool]:
    """Question that the scene answers → whether a caption tells the answer; see `scene_of`."""
    result = scene_of(words)
    answers = zip(QUESTIONS, scene, result, strict=True)
    return {question: answer == wanted for question, answer, wanted in answers if answer}


# ---- on disk


SCENE_FOLDER = pa.schema([(name, pa.string()) for name in (*QUESTIONS, "sentence")])


def write_scenes(config: SceneConfig, folder: Path) -> dict[str, Any]:
    """Draw scenes into a folder. Same settings, same bytes.

    Returns:
        The number of scenes of each split, for the data report.
    """
    splits = generate_scenes(config)
    for split, examples in splits.items():
        columns = [[example.scene[column] for example in examples] for column in range(len(QUESTIONS))]
        rows = pa.table([*columns, [example.sentence for example in examples]], schema=SCENE_FOLDER)
        write_table(folder / f"{split}.parquet", rows)
    write_json(folder / "corpus.json", {"format": FORMAT_VERSION})
    return {"splits": {split: {"scenes": len(examples)} for split, examples in splits.items()}}


def read_scenes(folder: Path) -> dict[str, list[Described]]:
    """Read what `write_scenes` wrote: train, validation and test.

    Raises:
        InputError: a file is missing or damaged, has another format version, or has a row that is not a scene with a
            line that describes it (the message names file and row).
    """
    path = folder / "corpus.json"
    about = read_json(path)
    if not isinstance(about, dict) or about.get("format") != FORMAT_VERSION:
        raise InputError(f'{path}: needs "format": {FORMAT_VERSION}; the stage `corpus` writes this file: run it again')
    splits = {split: _read_split(folder / f"{split}.parquet") for split in SPLITS}
    known = {word for pair in splits["train"] for word in pair.sentence.split()}
    for split in SPLITS[1:]:
        for row, pair in enumerate(splits[split]):
            if strange := set(pair.sentence.split()) - known:
                raise InputError(f"{folder / split}.parquet, row {row}: {min(strange)!r} is not a word of train")
    return splits


def _read_split(path: Path) -> list[Described]:
    rows = read_table(path, SCENE_FOLDER)
    try:
        columns = [column.to_pylist() for column in rows.cast(SCENE_FOLDER).columns]
    except pa.ArrowException as error:
        raise InputError(f"{path}: columns of scenes are text ({str(error)[:100]})") from error
    if not rows.num_rows:
        raise InputError(f"{path}: holds no scenes; draw more (scenes in conf/scenes)")
    known, pairs = set(all_facts()), []
    for row, (*answers, sentence) in enumerate(zip(*columns, strict=True)):
        scene = Scene(*answers)
        if None in scene or not known.issuperset(scene.facts()):
            raise InputError(f"{path}, row {row}: no scene of microworld")
        if sentence not in sentences(scene):
            raise InputError(f"{path}, row {row}: {str(sentence)[:60]!r} does not describe its scene")
        pairs.append(Described(scene, sentence))
    return pairs
