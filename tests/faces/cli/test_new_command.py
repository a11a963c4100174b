"""`langladder new`: what a project folder holds, what a file is taken for, and what is refused."""

import importlib.util
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from dvc.utils.hydra import apply_overrides

from langladder.faces.cli import new as module
from langladder.faces.cli.main import app
from langladder.families import families
from langladder.families.sides import SIDES
from langladder.text.labelled.label_files import LabelledSource
from langladder.text.labelled.tag_files import TaggedSource
from langladder.text.read.files import FileSource, TextSource, files_of
from langladder.text.read.pairs import ParallelSource
from pipeline import ROOT
from pipeline.settings import params, plan
from pipeline.settings.checks import other_version
from pipeline.settings.yaml_files import read_yaml

WORDS = ["the", "old", "cat", "sees", "a", "new", "dog", "near", "some", "house"]
SENTENCES = [f"{WORDS[n % 10]} {WORDS[n % 7]} runs home {n} ." for n in range(40)]
FILES = {
    "reviews.csv": "id;review;stars\n" + "\n".join(f"{n};{item};{n % 2 + 1}" for n, item in enumerate(SENTENCES)),
    "plain.tsv": "text\tlabel\n" + "\n".join(f"{item}\t{n % 3}" for n, item in enumerate(SENTENCES)),
    "rows.jsonl": "\n".join(json.dumps({"body": item, "verdict": n % 2}) for n, item in enumerate(SENTENCES)),
    "lines.jsonl": "\n".join(json.dumps({"text": item}) for item in SENTENCES),
    "latin.csv": "review,stars\n" + "\n".join(f"é {item},{n % 2}" for n, item in enumerate(SENTENCES)),
    "novel.txt": "\n".join(SENTENCES),
    "pairs.tsv": "\n".join(f"{item}\t{item.upper()}" for item in SENTENCES),
    "words.txt": "\n\n".join("\n".join(f"{word}\tN" for word in item.split()) for item in SENTENCES),
    "words.conll": "a N\nb V\n",
}
TAKEN: dict[str, tuple[str, dict[str, str]]] = {
    "reviews.csv": ("labels", {"text": "review", "label": "stars", "id": "id", "delimiter": ";"}),
    "plain.tsv": ("labels", {}),
    "rows.jsonl": ("labels", {"text": "body", "label": "verdict"}),
    "lines.jsonl": ("text", {}),
    "latin.csv": ("labels", {"text": "review", "label": "stars"}),
    "novel.txt": ("text", {}),
    "pairs.tsv": ("pairs", {}),
    "words.txt": ("tags", {}),
    "words.conll": ("tags", {}),
}

READ = {"labels": ["classifier"], "text": ["embedding", "lm"], "tags": ["tagger"], "pairs": ["translator"]}
"""Kind → the families whose rungs a new project has."""


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["new", *map(str, arguments)])


def written(folder: Path, name: str) -> Path:
    file = folder / name
    file.write_bytes(FILES[name].encode("latin-1" if name.startswith("latin") else "utf-8"))
    return file


def chosen(project: Path) -> dict[str, Any]:
    values: dict[str, Any] = yaml.safe_load((project / "params.yaml").read_text(encoding="utf-8"))
    return values


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_read_as_what_it_is(name: str, tmp_path: Path) -> None:
    done = run(tmp_path / "mine", "--data", written(tmp_path, name))
    assert done.exit_code == 0, done.output
    kind, settings = TAKEN[name]
    assert f"read as {kind}" in done.output
    values, side = chosen(tmp_path / "mine"), module.KINDS[kind].side
    assert (
        values["only"] == [side]
        and values[SIDES[side].group] == SIDES[side].own
        and values["paths"][side] == f"input/{side}/{name}"
    )
    assert values["data"] == ({side: settings} if settings else {})
    assert (tmp_path / "mine" / "input" / side / name).read_bytes() == (tmp_path / name).read_bytes()
    usual = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    for family in families().values():  # the rungs that read it, and no others
        kept = usual[family.listed] if family.name in READ[kind] else type(usual[family.listed])()
        kept = module.SMALL_TEXT.get(family.listed, kept) if kind == "text" else kept
        added = [rung for listed, rung in module.KINDS[kind].added if listed == family.listed]
        assert values[family.listed] == (kept + added if added else kept), family.listed
    assert params.schema().model_validate(values)
    file = tmp_path / "mine" / "conf" / module.KINDS[kind].example[0]
    assert [path.stem for path in file.iterdir()] == [f"my_{module.KINDS[kind].example[1]}"]


LINE = "ကျွန်တော် စာဖတ်သည်။ "  # 50 bytes
SMALL_TEXTS: dict[str, tuple[dict[str, str], bool]] = {
    "50 kB": ({"a.txt": (LINE + "\n") * 1000}, True),
    "300 kB": ({"a.txt": (LINE + "\n") * 6000}, False),
    "one long line": ({"a.txt": LINE * 6000}, False),
    "a folder of 50 kB": ({f"{n}.txt": (LINE + "\n") * 100 for n in range(10)}, True),
    "a folder of 300 kB": ({f"{n}.txt": (LINE + "\n") * 600 for n in range(10)}, False),
    "a table": ({"a.jsonl": "\n".join(json.dumps({"text": LINE}) for _ in range(1000))}, True),
}


@pytest.mark.parametrize("name", SMALL_TEXTS)
def test_a_small_text_gets_settings_of_its_own(name: str, tmp_path: Path) -> None:
    files, small = SMALL_TEXTS[name]
    (tmp_path / "given").mkdir()
    for file, content in files.items():
        (tmp_path / "given" / file).write_text(content, encoding="utf-8")
    data = tmp_path / "given" if len(files) > 1 else tmp_path / "given" / next(iter(files))
    done = run(tmp_path / "mine", "--data", data, "--kind", "text")
    values, usual = chosen(tmp_path / "mine"), read_yaml(ROOT / "params.yaml")
    assert {key: values[key] for key in module.SMALL_TEXT} == {
        key: value if small else usual[key] for key, value in module.SMALL_TEXT.items()
    }
    line = (
        "at most 200 kB of text, so params.yaml has size: tiny, tokenizer: character, embeddings: [svd, subword], "
        "lms: [kneser_ney_3, kneser_ney] (docs/small-languages.md)"
    )
    assert done.output.splitlines().count(f"{data}: {line}") == small


def test_a_small_text_has_the_choices_of_the_preset() -> None:
    preset = read_yaml(ROOT / "conf" / "preset" / "small_corpus.yaml")
    choices = {
        key.removeprefix("override /"): value for default in preset["defaults"] for key, value in default.items()
    }
    assert choices.pop("lm") in module.SMALL_TEXT["lms"] and choices.pop("embedding") in module.SMALL_TEXT["embeddings"]
    assert {key: module.SMALL_TEXT[key] for key in choices} == choices and set(choices) == {"size", "tokenizer"}


SOURCES: dict[str, type[FileSource]] = {
    "labels": LabelledSource,
    "tags": TaggedSource,
    "pairs": ParallelSource,
    "text": TextSource,
}
COLUMNS = "EU NNP B-NP B-ORG\nrejects VBZ B-VP O\nGerman JJ B-NP B-MISC\ncall NN I-NP O\n"
SPLIT = {"train": "x_train.conll", "validation": "x_dev.conll", "test": "x_test.conll"}
FOLDERS: dict[str, tuple[dict[str, str], str, str | None, dict[str, object]]] = {
    "conll": (dict.fromkeys(SPLIT.values(), "a N\nb V\n"), "tags", None, {"files": SPLIT}),
    "one conll": ({"a.conll": "a N\n", "b.conll": "b V\n", "README.md": "#"}, "tags", None, {}),
    "columns": ({"a.conll": COLUMNS}, "tags", None, {"columns": {"tag": 3}}),
    "positions": ({"a.conll": "科0 B-X\n技1 O\n\n全0 O\n"}, "tags", None, {"positions": True}),
    "conllu": (
        {"en-ud-train.conllu": "1\ta\ta\tDET\t_\t_\t0\n", "en-ud-dev.conllu": "1\ta\ta\tDET\t_\t_\t0\n"},
        "tags",
        None,
        {
            "files": {"train": "en-ud-train.conllu", "validation": "en-ud-dev.conllu"},
            "columns": {"form": 1, "tag": 3, "head": 6, "id": 0},
        },
    ),
    "aligned": (
        {f"{split}.{code}": "a\n" for split in ("train", "val", "test") for code in ("de", "en")},
        "pairs",
        None,
        {"files": {"train": "train*", "validation": "val*", "test": "test*"}},
    ),
    "aligned, no splits": ({"a.de": "a\n", "a.en": "a\n"}, "pairs", None, {}),
    "tables": (
        {f"{split}.csv": FILES["latin.csv"].replace("é", "e") for split in ("Train", "valid")},
        "labels",
        None,
        {"files": {"train": "Train.csv", "validation": "valid.csv"}, "text": "review", "label": "stars"},
    ),
    "labels by folder": (
        {f"{split}/{label}/1.txt": "a b\n" for split in ("train", "test") for label in ("pos", "neg")},
        "labels",
        "labels",
        {"files": {"train": "train/**/*", "test": "test/**/*"}},
    ),
    "wiki": (
        {f"wiki.{split}.tokens": "= A =\n a b\n" * 9 for split in ("train", "valid", "test")},
        "text",
        "text",
        {
            "files": {
                split: f"wiki.{name}.tokens" for split, name in (("train",) * 2, ("validation", "valid"), ("test",) * 2)
            },
            "documents": "heading",
            "heading": "= [^=].* =",
        },
    ),
    "two trains": (
        {"train_1.conll": "a N\n", "train_2.conll": "a N\n", "dev.conll": "a N\n", "devices.pdf": "x"},
        "tags",
        None,
        {"files": {"train": "train*", "validation": "dev.conll"}},
    ),
    "splits as endings": (
        {f"weibo.conll.{split}": "科 B-X\n技 O\n\n全 O\n" for split in ("train", "dev", "test")},
        "tags",
        None,
        {"files": {s: f"weibo.conll.{n}" for s, n in (("train",) * 2, ("validation", "dev"), ("test",) * 2)}},
    ),
    "CoNLL-2003": (
        {f"eng.{split}": COLUMNS for split in ("train", "testa", "testb")},
        "tags",
        "tags",
        {
            "files": {"train": "eng.train", "validation": "eng.testa", "test": "eng.testb"},
            "columns": {"tag": 3},
        },
    ),
    "columns in text files": (
        {f"{split}.txt": "EU B-ORG\nrejects O\ncall O\n\n" * 3 for split in ("train", "valid", "test")},
        "tags",
        None,
        {"files": {"train": "train.txt", "validation": "valid.txt", "test": "test.txt"}},
    ),
    "text in splits": (
        {f"{split}.txt": "a b c\nd e\n" * 9 for split in ("train", "dev")},
        "text",
        None,
        {"files": {"train": "train.txt", "validation": "dev.txt"}},
    ),
    "no train": ({"a_dev.conll": "a N\n", "a_test.conll": "a N\n"}, "tags", None, {}),
    "one without a split": ({"train.conll": "a N\n", "test.conll": "a N\n", "more.conll": "a N\n"}, "tags", None, {}),
    "training data": ({"training_data.conll": "a N\n"}, "tags", None, {}),
    "stories": ({f"{n}.txt": "a b\nc d\n" for n in range(12)}, "text", "text", {"documents": "file"}),
}


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_is_read_as_what_its_files_are_with_the_splits_that_they_name(name: str, tmp_path: Path) -> None:
    files, kind, kind_option, settings = FOLDERS[name]
    for file, content in files.items():
        (tmp_path / "given" / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "given" / file).write_text(content)
    done = run(tmp_path / "mine", "--data", tmp_path / "given", *(["--kind", kind_option] if kind_option else []))
    assert done.exit_code == 0 and f"read as {kind}" in done.output, done.output
    values, side = chosen(tmp_path / "mine"), module.KINDS[kind].side
    assert values["data"] == ({side: settings} if settings else {}) and values["paths"][side] == f"input/{side}"
    assert params.schema().model_validate(values)
    source = SOURCES[kind].model_validate({"path": str(tmp_path / "given")} | settings)
    if isinstance(source.files, dict):  # each file is in one split
        assert set(files_of(source, source.files)) == set(source.files)


NOVELS: dict[str, tuple[str, dict[str, str]]] = {
    "chapters": ("".join(f"CHAPTER {n}. Title\n\nA line\nand more.\n\n" for n in ["I", "II", "III", "IV", "V"]), {}),
    "blocks": ("A first line\nand a second.\n\n" * 6, {"documents": "blank_line"}),
    "lines": ("A line is a paragraph.\n\n" * 40, {}),
}


@pytest.mark.parametrize("name", NOVELS)
def test_documents_of_a_text_are_proposed_by_what_separates_them(name: str, tmp_path: Path) -> None:
    text, wanted = NOVELS[name]
    (tmp_path / "novel.txt").write_text(text)
    done = run(tmp_path / "mine", "--data", tmp_path / "novel.txt")
    settings = chosen(tmp_path / "mine")["data"].get("text", {})
    if name == "chapters":
        assert settings.pop("documents") == "heading" and re.fullmatch(settings.pop("heading"), "CHAPTER V. Title")
    assert settings == wanted
    assert ("neighbouring lines may fall into different splits" in done.output) == (name == "lines")


def test_params_yaml_keeps_its_comments_and_one_change_is_one_line(tmp_path: Path) -> None:
    assert run(tmp_path / "mine", "--data", written(tmp_path, "reviews.csv")).exit_code == 0
    file = tmp_path / "mine" / "params.yaml"
    before = file.read_text(encoding="utf-8")
    usual = (ROOT / "params.yaml").read_text(encoding="utf-8").splitlines()
    lost = [line for line in usual[2:] if line.startswith("#") and line not in before.splitlines()]
    assert not lost and "# conf/labels, text → label:" in before
    apply_overrides(file, ["seed=7"])
    after = file.read_text(encoding="utf-8")
    changed = [pair for pair in zip(before.splitlines(), after.splitlines(), strict=True) if pair[0] != pair[1]]
    assert [old.split()[0] for old, _ in changed] == ["seed:"]


def test_without_data_the_default_ladder_is_chosen(tmp_path: Path) -> None:
    assert run(tmp_path / "mine").exit_code == 0
    assert chosen(tmp_path / "mine") == read_yaml(ROOT / "params.yaml")
    ignored = (tmp_path / "mine" / ".dvc" / ".gitignore").read_text(encoding="utf-8")
    assert ignored == (ROOT / ".dvc" / ".gitignore").read_text(encoding="utf-8")


def test_the_stages_are_those_of_the_checkout_and_watch_no_code(tmp_path: Path) -> None:
    assert run(tmp_path / "mine").exit_code == 0
    ours, theirs = read_yaml(ROOT / "dvc.yaml"), read_yaml(tmp_path / "mine" / "dvc.yaml")
    deps = theirs["stages"]["resolve"].pop("deps")
    watched = ["conf", "params.yaml", "pipeline", "src/claims", "src/langladder", "src/microworld", deps[-1]]
    assert ours["stages"]["resolve"].pop("deps") == watched
    assert deps == ["conf", "params.yaml", "requirements.txt", "${paths.plugins}"]
    for side in ("scenes", "speech"):
        assert ours["stages"]["corpus"]["foreach"].pop(side) == f"conf/{side}"
        assert theirs["stages"]["corpus"]["foreach"].pop(side) == "requirements.txt"
    assert theirs == ours
    for dep in (name for name in deps if "$" not in name):
        assert (tmp_path / "mine" / dep).exists()
    paths = [path for path in chosen(tmp_path / "mine")["paths"].values() if path.startswith("input/")]
    assert paths and all((tmp_path / "mine" / path).is_dir() for path in paths)
    assert plan.stages()  # which reads commands as they stand there


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    done = run(tmp_path / "mine")
    assert done.exit_code == 2 and "not empty" in done.output
    assert [file.name for file in (tmp_path / "mine").iterdir()] == ["thesis.txt"]
    (tmp_path / "file").write_text("")
    assert run(tmp_path / "file").exit_code == 2
    (tmp_path / "empty").mkdir()
    assert run(tmp_path / "empty").exit_code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--kind", "text"], "give --data"),
        (["--data", "folder"], "--kind labels | text | tags | pairs"),
        (["--data", "thing.xyz"], "--kind labels | text | tags | pairs"),
        (["--update"], "not a langladder project"),
    ],
)
def test_what_is_unclear_is_requested_and_nothing_is_written(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_text("a b c\n")
    (tmp_path / "thing.xyz").write_text("?\n")
    done = run("mine", *words)
    assert done.exit_code == 2 and message in done.output and not (tmp_path / "mine").exists()


def test_a_folder_of_data_is_copied(tmp_path: Path) -> None:
    (tmp_path / "corpus" / "deep").mkdir(parents=True)
    (tmp_path / "corpus" / "deep" / "a.txt").write_text("a b c\n")
    assert run(tmp_path / "mine", "--data", tmp_path / "corpus", "--kind", "text").exit_code == 0
    assert (tmp_path / "mine" / "input" / "text" / "deep" / "a.txt").is_file()
    assert chosen(tmp_path / "mine")["paths"]["text"] == "input/text"


@pytest.mark.parametrize(
    ("project", "link", "message"),
    [
        ("dd/proj", "", "is inside dd, which would be copied into itself"),
        ("dd/deep/er/proj", "", "is inside dd, which would be copied into itself"),
        ("other/proj", "", "is inside dd, which would be copied into itself"),  # other is a link to dd
        ("proj", "dd", "dd/deep/link: a link to a folder"),  # a cycle
        ("proj", "nowhere", "dd/deep/link: a link to nothing"),
    ],
)
def test_data_that_cannot_be_copied_whole_are_refused_and_nothing_is_written(
    project: str, link: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dd" / "deep").mkdir(parents=True)
    (tmp_path / "dd" / "a.txt").write_text("a b c\n")
    (tmp_path / "other").symlink_to("dd")
    if link:
        (tmp_path / "dd" / "deep" / "link").symlink_to(tmp_path / link)
    before = sorted(tmp_path.rglob("*"))
    done = run(project, "--data", "dd", "--kind", "text")
    assert done.exit_code == 2 and message in done.output
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(("absent", "message"), [("hydra", "hydra is not installed"), ("pipeline", "not installed")])
def test_missing_parts_are_named_with_what_installs_them(
    absent: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(module, "find_spec", lambda name: None if name == absent else find(name))
    done = run(tmp_path / "mine")
    assert done.exit_code == 2 and message in done.output and "pip install 'langladder[pipeline]'" in done.output
    assert len(done.output.strip().splitlines()) == 1 and not (tmp_path / "mine").exists()


def test_another_version_is_named_until_the_project_is_updated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "mine"
    assert run(project, "--data", written(tmp_path, "novel.txt")).exit_code == 0
    monkeypatch.setattr("pipeline.settings.checks.ROOT", project)
    monkeypatch.setattr("pipeline.settings.checks.INSTALLED", ROOT / "conf")
    assert other_version() == []
    file = project / "requirements.txt"
    file.write_text(file.read_text().replace("==0.", "==99."))
    (project / "dvc.yaml").write_text((project / "dvc.yaml").read_text() + "# of an older version\n")
    params_before = (project / "params.yaml").read_text()
    assert "langladder==99." in other_version()[0] and "new --update" in other_version()[0]
    assert run(project, "--update").exit_code == 0
    assert other_version() == [] and "older version" not in (project / "dvc.yaml").read_text()
    assert (project / "params.yaml").read_text() == params_before
    assert "a checkout" in run(ROOT, "--update").output


def test_the_folder_becomes_a_repository_of_its_own_unless_it_lies_in_one(tmp_path: Path) -> None:
    assert run(tmp_path / "mine").exit_code == 0
    listed = subprocess.run(
        ["git", "ls-files", "--others", "--exclude-standard"],
        cwd=tmp_path / "mine",
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert {"params.yaml", "dvc.yaml", ".dvc/config", "README.md", "input/text/.gitkeep"} <= set(listed)
    assert run(tmp_path / "mine" / "inner").exit_code == 0
    assert not (tmp_path / "mine" / "inner" / ".git").exists()
    assert "no_scm" not in (tmp_path / "mine" / "inner" / ".dvc" / "config").read_text()


def test_without_git_dvc_works_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = run(tmp_path / "mine")
    assert done.exit_code == 0 and "git add" not in done.output
    assert "no_scm = true" in (tmp_path / "mine" / ".dvc" / "config").read_text()
