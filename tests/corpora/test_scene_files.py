"""Scenes on disk: what is drawn comes back, the same bytes for the same settings, and nothing else is read."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langladder.corpora.scenes import SCENE_FOLDER, SceneConfig, generate_scenes, read_scenes, write_scenes
from langladder.ground.errors import InputError
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
    assert read_scenes(tmp_path) == ("tiny", splits)
    assert report["splits"] == {split: {"scenes": len(examples)} for split, examples in splits.items()}
    assert {file.name for file in tmp_path.iterdir()} == {file.name for file in drawn.iterdir()}
    assert all((drawn / file.name).read_bytes() == file.read_bytes() for file in tmp_path.iterdir())


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("agent", "dragon", "no scene of a world of size tiny"),
        ("agent", "", "has no answer to agent"),
        ("agents", "", "has no answer to agents"),
        ("deed", None, "no scene of a world"),
        ("sentence", " ", "no scene of a world"),
        ("sentence", None, "no scene of a world"),
        ("sentence", "the zeppelin sleeps .", "'zeppelin' is not a word of train"),
    ],
)
def test_what_is_no_scene_is_named(drawn: Path, tmp_path: Path, column: str, value: str | None, said: str) -> None:
    path = copy(drawn, tmp_path) / "test.parquet"
    columns = pq.read_table(path).to_pydict()
    columns[column][2] = value
    pq.write_table(pa.table(columns, schema=SCENE_FOLDER), path)
    with pytest.raises(InputError, match=rf"test\.parquet, row 2: .*{said}"):
        read_scenes(tmp_path)


def test_other_files_are_refused(drawn: Path, tmp_path: Path) -> None:
    folder = copy(drawn, tmp_path)
    for about in ([], {"format": 2, "size": "tiny"}, {"format": 1, "size": "vast"}):
        (folder / "corpus.json").write_text(json.dumps(about))
        with pytest.raises(InputError, match='needs "format": 1 and a "size" of tiny, small, base'):
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
