"""Scenes on disk: round trip, the same bytes for the same settings, other files are refused."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langladder.corpora.scenes import SCENE_FOLDER, SceneConfig, generate_scenes, read_scenes, write_scenes
from langladder.ground.errors import InputError
from microworld.lexicon import table
from tests.hostile import fuzzed, read, strange_bytes, strange_json

TINY = SceneConfig(size="tiny", scenes=400)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("scenes")
    write_scenes(TINY, folder)
    return folder


def copy(drawn: Path, folder: Path) -> Path:
    for file in drawn.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    return folder


def test_scenes_come_back_and_the_bytes_are_the_same(drawn: Path, tmp_path: Path) -> None:
    report = write_scenes(TINY, tmp_path)
    splits = generate_scenes(TINY)
    assert read_scenes(tmp_path) == splits
    assert report["splits"] == {split: {"scenes": len(examples)} for split, examples in splits.items()}
    assert {file.name for file in tmp_path.iterdir()} == {file.name for file in drawn.iterdir()}
    assert all((drawn / file.name).read_bytes() == file.read_bytes() for file in tmp_path.iterdir())


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("agent", "zeppelin", "no scene of microworld"),
        ("agent", "", "does not describe its scene"),
        ("agents", "", "does not describe its scene"),
        ("deed", None, "no scene of microworld"),
        ("sentence", " ", "' ' does not describe its scene"),
        ("sentence", None, "does not describe its scene"),
        ("sentence", "the zeppelin sleeps .", "'the zeppelin sleeps .' does not describe its scene"),
    ],
)
def test_invalid_scenes_raise_a_named_error(
    drawn: Path, tmp_path: Path, column: str, value: str | None, message: str
) -> None:
    path = copy(drawn, tmp_path) / "test.parquet"
    columns = pq.read_table(path).to_pydict()
    row = columns["agents"].index("many")
    columns[column][row] = value
    pq.write_table(pa.table(columns, schema=SCENE_FOLDER), path)
    with pytest.raises(InputError, match=rf"test\.parquet, row {row}: .*{message}"):
        read_scenes(tmp_path)


def test_a_word_that_train_has_not_is_named(drawn: Path, tmp_path: Path) -> None:
    path = copy(drawn, tmp_path) / "test.parquet"
    train = " ".join(pq.read_table(drawn / "train.parquet")["sentence"].to_pylist()).split()
    noun = next(row["singular"] for row in table("nouns") if row["singular"] not in train)
    fields = {"agent": noun, "agents": "one", "state": "beautiful", "sentence": f"the {noun} is beautiful ."}
    rows = [{name: fields.get(name, "") for name in SCENE_FOLDER.names}]
    pq.write_table(pa.Table.from_pylist(rows, schema=SCENE_FOLDER), path)
    with pytest.raises(InputError, match=rf"test\.parquet, row 0: '{noun}' is not a word of train"):
        read_scenes(tmp_path)


def test_other_files_are_refused(drawn: Path, tmp_path: Path) -> None:
    folder = copy(drawn, tmp_path)
    for about in ([], {"format": 2}):
        (folder / "corpus.json").write_text(json.dumps(about))
        with pytest.raises(InputError, match='needs "format": 1'):
            read_scenes(folder)
    copy(drawn, folder)
    pq.write_table(SCENE_FOLDER.empty_table(), folder / "validation.parquet")
    with pytest.raises(InputError, match=r"validation\.parquet: holds no scenes"):
        read_scenes(folder)
    pq.write_table(pa.table({name: [[1]] for name in SCENE_FOLDER.names}), folder / "validation.parquet")
    with pytest.raises(InputError, match="columns of scenes are text"):
        read_scenes(folder)


@pytest.mark.long
@given(data=st.data())
@fuzzed
def test_fuzz_scene_files(drawn: Path, tmp_path: Path, data: st.DataObject) -> None:
    copy(drawn, tmp_path)
    path = tmp_path / data.draw(st.sampled_from(["corpus.json", "train.parquet", "test.parquet"]))
    strange = (
        strange_json(json.loads(path.read_bytes())) if path.suffix == ".json" else strange_bytes(path.read_bytes())
    )
    path.write_bytes(data.draw(strange))
    read(read_scenes, tmp_path)
