"""Scenes on disk: what a captioner is trained and judged on, drawn once.

corpus.json                                         {"format": 1, "size": of the lexicon}
train.parquet, validation.parquet, test.parquet     a column a question, "" for no answer, and `sentence`
"""

from pathlib import Path
from typing import Any, NamedTuple, get_args

import pyarrow as pa

from langladder.corpora.lexicon import Size
from langladder.corpora.scenes import QUESTIONS, Described, Scene, SceneConfig, all_facts, generate_scenes
from langladder.ground.artefacts import FORMAT_VERSION, read_json, write_json
from langladder.ground.errors import InputError
from langladder.text.storage.tables import SPLITS, read_table, write_table

SCENES = pa.schema([(name, pa.string()) for name in (*QUESTIONS, "sentence")])
MUST = ("agent", "agents", "deed", "time")
"""Questions that every scene answers."""


class Scenes(NamedTuple):
    """A corpus of scenes: the size of the lexicon that their sentences are made of, and train, validation and test."""

    size: Size
    splits: dict[str, list[Described]]


def write_scenes(config: SceneConfig, folder: Path) -> dict[str, Any]:
    """Draw scenes into a folder. Same settings, same bytes.

    Returns:
        How many scenes each split has, for the data report.
    """
    splits = generate_scenes(config)
    for split, examples in splits.items():
        columns = [[one.scene[place] for one in examples] for place in range(len(QUESTIONS))]
        table = pa.table([*columns, [one.sentence for one in examples]], schema=SCENES)
        write_table(folder / f"{split}.parquet", table)
    write_json(folder / "corpus.json", {"format": FORMAT_VERSION, "size": config.size})
    return {"splits": {split: {"scenes": len(examples)} for split, examples in splits.items()}}


def read_scenes(folder: Path) -> Scenes:
    """Read what `write_scenes` wrote.

    Raises:
        InputError: a file is missing or damaged, of another format version, or holds what is no scene of the lexicon
            (names file and row).
    """
    path = folder / "corpus.json"
    about = read_json(path)
    if not isinstance(about, dict) or about.get("format") != FORMAT_VERSION or about.get("size") not in get_args(Size):
        raise InputError(
            f"{path}: no scenes of format {FORMAT_VERSION} with a size of {', '.join(get_args(Size))}; make them again "
            "(stage `corpus`)"
        )
    size: Size = about["size"]
    splits = {split: _read_split(folder / f"{split}.parquet", size) for split in SPLITS}
    known = {word for one in splits["train"] for word in one.sentence.split()}
    for split in SPLITS[1:]:
        for row, one in enumerate(splits[split]):
            if strange := set(one.sentence.split()) - known:
                raise InputError(f"{folder / split}.parquet, row {row}: {min(strange)!r} is no word that train has")
    return Scenes(size, splits)


def _read_split(path: Path, size: Size) -> list[Described]:
    table = read_table(path, SCENES)
    try:
        columns = [column.to_pylist() for column in table.cast(SCENES).columns]
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
