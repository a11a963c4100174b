"""Public labelled corpora, as conf/ reads them: the counts that everybody has."""

from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
from real_data import real

from langladder.text.labelled.clean_labelled import CleanLabelledConfig, clean_labels, clean_tags
from langladder.text.labelled.label_files import LabelledSource, read_labels
from langladder.text.labelled.labelled import Example, read_labelled, read_tagged, read_tree
from langladder.text.labelled.labelled import read_labels as names_of
from langladder.text.labelled.tag_files import TaggedSource, read_tags
from langladder.text.storage.shards import SPLITS
from pipeline.settings import params
from pipeline.settings.compose import conf_folder, prepare


def cleaned(side: str, name: str, data: str, folder: Path) -> Path:
    """The clean corpus of conf/<side>/<name>.yaml with its files from the real data."""
    prepare(params.load())
    with initialize_config_dir(conf_folder(), version_base="1.3"):
        config = compose("config", [f"{side}={name}", f"paths.{side}='{real(data)}'"])
    value = OmegaConf.to_container(config[side].source, resolve=True)
    clean = CleanLabelledConfig(iid=config[side].iid)
    if side == "labels":
        read_labels(LabelledSource.model_validate(value), folder / "raw")
        clean_labels(folder / "raw", folder / "clean", clean, 1)
    else:
        read_tags(TaggedSource.model_validate(value), folder / "raw")
        clean_tags(folder / "raw", folder / "clean", clean, 1)
    return folder / "clean"


def splits(folder: Path) -> list[list[Example]]:
    return [read_labelled(folder / f"{split}.parquet") for split in SPLITS]


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "counts", "labels"),
    [
        ("sst5", (8544, 1101, 2210), ["0", "1", "2", "3", "4"]),
        ("sst2", (6920, 872, 1821), ["negative", "positive"]),
        ("sst2_phrases", (77616, 872, 1821), ["negative", "positive"]),
    ],
)
def test_sentiment_trees(tmp_path: Path, name: str, counts: tuple[int, ...], labels: list[str]) -> None:
    folder = cleaned("labels", name, "sst-trees", tmp_path)
    result = splits(folder)
    assert tuple(map(len, result)) == counts and names_of(folder) == labels
    for item in result[2]:
        tree = read_tree(item)
        assert tree.label[-1] == item.label and " ".join(tree.words) == item.text
        assert set(tree.label) <= {None, *labels}


@pytest.mark.long
def test_web_text_with_parts_of_speech(tmp_path: Path) -> None:
    folder = cleaned("tags", "ud_ewt", "ud-ewt", tmp_path)
    tagged = [read_tagged(folder / f"{split}.parquet") for split in SPLITS]
    assert [len(split) for split in tagged] == [12544, 2001, 2077] and len(names_of(folder)) == 17
    assert [sum(len(item.words) for item in split) for split in tagged] == [204577, 25147, 25094]
    assert all(item.heads is not None and item.heads.count(0) == 1 for split in tagged for item in split)
