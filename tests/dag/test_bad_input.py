"""Bad input through the stages themselves: a message that helps, an exit code other than 0, nothing half-written."""

import errno
import importlib
import re
import shutil
import sys
from pathlib import Path

import pytest
import yaml
from hydra import initialize_config_dir

from langladder.families import families
from langladder.ground import progress
from langladder.ground.atomic import atomic_folder
from langladder.ground.errors import InputError
from langladder.ground.schema import checked_name
from langladder.text.storage.shards import RowGroups
from pipeline import ROOT
from pipeline.resolve import HYDRA
from pipeline.settings import checks, needed, params, plan, run_folder, stage, yaml_files
from pipeline.settings.compose import conf_folder, resolve


def run_stage(stage: str, out: Path, monkeypatch: pytest.MonkeyPatch, *overrides: str) -> int:
    """Run a stage as its command in dvc.yaml does, with its outputs under `out`; returns the exit code."""
    module, *family = plan.stages()[stage].command
    folder = [f"hydra.run.dir='{out}'", "hydra.output_subdir=null"]
    monkeypatch.setattr(sys, "argv", [module, *family, *overrides, *folder])
    try:
        importlib.import_module(module).main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def corpus(path: Path, out: Path, monkeypatch: pytest.MonkeyPatch, *more: str) -> int:
    return run_stage("corpus", out, monkeypatch, "corpus=text", f"paths.text='{path}'", *more)


WRONG = [
    "",
    ".",
    "..",
    "../x",
    "a/b",
    "a\\b",
    "/etc",
    "-x",
    "_x",
    ".x",
    "v2.1",
    "a b",
    "a;b",
    "$x",
    "a\n",
    "a\0",
    "x" * 101,
]


def test_one_rule_for_names() -> None:
    for name in ("gpt", "gpt-2", "kneser_ney_5", "5", "Größe", "модель", "मॉडल", "模型"):
        assert checked_name(name) == name
    for name in (*WRONG, "\ud800", "e\u0301", "\u200bx"):
        with pytest.raises(ValueError, match=r"a name has letters and digits|composed form"):
            checked_name(name)


def test_names_that_lead_outside_are_refused_in_every_setting(tmp_path: Path) -> None:
    """Rungs, choices, what is given, bases: before a path is made of them."""
    folder, base = str(tmp_path), params.load().model_dump() | {"corpora": ["instructions"]}
    for wrong in ("../../input/mine", "..", "a/../b", "v2.1", "-x"):
        keys: list[dict[str, object]] = [{"given": {wrong: folder}}, {"tunes": {"gpt_longer": {"base": f"lm/{wrong}"}}}]
        for change in keys:
            with pytest.raises(ValueError, match="a name has letters"):
                params.schema().model_validate(base | change)
        for family in families().values():
            entry = {"base": "lm/gpt"} | ({"reads": "data/preferences/sft"} if family.beside else {})
            listed = {wrong: entry} if family.bases else [wrong]
            chosen = params.schema().model_validate(base | {family.listed: listed})
            problems = checks.name_problems(chosen)
            assert any(f"{wrong!r} is not a choice" in line for line in problems), (family.name, wrong)
        for group in params.GROUPS:
            assert checks.name_problems(params.load().model_copy(update={group: wrong})), group


def test_files_of_conf_have_names_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What editors and file managers leave beside them is ignored."""
    (tmp_path / "conf" / "lm").mkdir(parents=True)
    for name in ("v2.1", "gpt", ".#gpt", "._gpt"):
        (tmp_path / "conf" / "lm" / f"{name}.yaml").write_text("year: 2019\n" if name[0] != "." else "\0")
    monkeypatch.setattr(yaml_files, "ROOT", tmp_path)
    monkeypatch.setattr(params, "ROOT", tmp_path)
    (problem,) = checks.conf_problems()
    assert problem.startswith("conf/lm/v2.1.yaml: 'v2.1' cannot be a name: a name has letters and digits")
    assert params.conf_names("lm") == ["gpt", "v2.1"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a folder of the user's."""
    folder = tmp_path / "project"
    (folder / "input" / "mine").mkdir(parents=True)
    (folder / "input" / "mine" / "thesis.txt").write_text("years of work")
    monkeypatch.setattr(run_folder, "ROOT", folder)
    monkeypatch.chdir(folder)
    return folder


def replaces(path: str) -> bool:
    """Whether a stage replaces this folder."""
    try:
        with atomic_folder(Path(path), run_folder.OUTPUT) as folder:
            (folder / "new").touch()
    except InputError as error:
        assert "this folder is not replaced" in str(error)
        return False
    return True


def test_a_stage_replaces_nothing_but_outputs_of_the_project(project: Path, tmp_path: Path) -> None:
    """Whatever its settings say: an owner of its own, beside the rule for names."""
    (tmp_path / "disk" / "raw").mkdir(parents=True)
    (tmp_path / "disk" / "raw" / "old").touch()
    (project / "models" / "lm").mkdir(parents=True)
    (project / "models" / "lm" / "linked").symlink_to("../../input/mine")
    (project / "models" / "given").symlink_to("../input")
    (project / "curves").symlink_to("input")
    assert not replaces("curves/mine") and (project / "input" / "mine" / "thesis.txt").exists()
    (project / "resolved").symlink_to("input/mine")
    (project / "data").symlink_to(tmp_path / "disk")
    (project / "reports").symlink_to(".")
    outside = ["input/mine", "models/lm/../../input/mine", "models/lm/linked", "models/given/mine", "resolved"]
    for path in (*outside, "reports/input/mine", str(tmp_path / "project"), "."):
        assert not replaces(path), path
    assert (project / "input" / "mine" / "thesis.txt").read_text() == "years of work"
    assert replaces("data/raw")  # one of the folders may lie on another disk as a whole
    assert replaces("models/lm/gpt") and replaces("models/lm/gpt")
    assert replaces("elsewhere/new") and not replaces("elsewhere/new")  # as `hydra.run.dir=elsewhere` makes it
    (project / "resolved").unlink()
    assert replaces("resolved") and replaces("resolved")


LINKS = ["models", "models/lm", "data/raw", "metrics/train_lm", "curves/lm", "reports/rungs/lm", "data/watched"]


@pytest.mark.parametrize("link", LINKS)
def test_no_folder_of_outputs_is_a_link(project: Path, link: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """DVC would empty what is behind it before a stage could look."""
    monkeypatch.setattr(checks, "ROOT", project)
    for out in ("models/lm/gpt", "data/raw/text", "checkpoints/x"):
        (project / out).mkdir(parents=True)
    (project / "data" / "raw" / "text" / "part.parquet").symlink_to("../../../input/mine/thesis.txt")  # as DVC links
    assert checks.linked_outputs() == []
    if (project / link).exists():
        shutil.rmtree(project / link)
    (project / link).parent.mkdir(parents=True, exist_ok=True)
    (project / link).symlink_to(project / "input")
    (problem,) = checks.linked_outputs()
    assert problem.startswith(f"{link}: a link to {project}/input")


def test_a_path_of_names_stays_where_it_belongs(project: Path) -> None:
    assert run_folder.output(Path(), "metrics", "lm", "gpt", ending=".json") == Path("metrics/lm/gpt.json")
    for wrong in WRONG:
        with pytest.raises(InputError, match="a name has letters"):
            run_folder.output(Path(), "models", "lm", wrong)
    (project / "metrics").mkdir()
    (project / "metrics" / "lm").symlink_to("../input/mine")
    with pytest.raises(InputError, match=r"metrics/lm/thesis.txt: this file is not replaced"):
        run_folder.output(Path(), "metrics", "lm", "thesis", ending=".txt")
    with pytest.raises(InputError, match=r"leads out of the sweep's folder multirun/x"):
        run_folder.check_below("multirun/x/paths.text=../../../../input", "multirun/x")
    run_folder.check_below("multirun/x/paths.text=../corpus", "multirun/x")


def test_a_resolved_file_by_hand_is_checked_and_nothing_is_trained_that_could_not_be_written(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = {family.listed: {} if family.bases else [] for family in families().values()}
    chosen = params.schema().model_validate(params.load().model_dump() | listed | {"lms": ["kneser_ney"]})
    with initialize_config_dir(conf_folder(), version_base="1.3"):
        values = resolve(chosen)["train_lm/kneser_ney"]
    monkeypatch.setattr(stage, "ROOT", project)
    (project / "conf").symlink_to(ROOT / "conf")

    def trained() -> str:
        text = yaml.safe_dump({"_job_": "resolved/train_lm/mine.yaml"} | HYDRA | values)
        (tmp_path / "mine.yaml").write_text(text)
        monkeypatch.setattr(sys, "argv", ["train.py", "lm", "-cd", str(tmp_path), "-cn", "mine"])
        with pytest.raises(SystemExit):
            importlib.import_module("pipeline.train").main()
        return capsys.readouterr().err

    values["lm"]["name"] = "../../input/mine"
    assert "lm.name: '../../input/mine' is not allowed: a name has letters" in trained()
    values["lm"]["name"] = "kneser_ney"
    (project / "models").mkdir()
    (project / "models" / "lm").symlink_to("../input")
    (project / "input" / "mine").rename(project / "input" / "kneser_ney")
    assert "models/lm/kneser_ney: this folder is not replaced" in trained()
    assert (project / "input" / "kneser_ney" / "thesis.txt").is_file()


CASES = {
    "missing path": (None, ["no_such_file", "does not exist"]),
    "empty file": (b"", ["text.txt", "empty"]),
    "only blank lines": (b"\n  \n\n", ["blank"]),
    "binary file": (b"\x7fELF\x00\x01\x02\x00" * 50, ["text.txt"]),
    "invalid UTF-8": (b"good line\nbad \xff\xfe line\n", ["text.txt:2", "UTF-8"]),
    "one long line": (b"a" * 3_000_000, ["text.txt:1", "max_line_bytes"]),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_files(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    content, parts = CASES[case]
    path = tmp_path / "no_such_file"
    if content is not None:
        path = tmp_path / "text.txt"
        path.write_bytes(content)
    out = tmp_path / "out"
    code = corpus(path, out, monkeypatch, "corpus.source.max_line_bytes=1000000")
    message = capsys.readouterr().err
    assert code == 2, message
    for part in parts:
        assert part in message, message
    assert not list(out.rglob("*.parquet"))
    assert not [file for file in out.rglob("*") if "partial" in file.name]


LABELLED = {
    "labels.csv": ("labels=text", "text,label\ngood,1\nbad\n", ["labels.csv:3", "1 columns"]),
    "tags.conll": ("tags=columns", "he B-PER\n\nshe I-PER\n", ["tags.conll:3", "'I-PER' must not follow", "IOB1"]),
}


@pytest.mark.parametrize("name", LABELLED)
def test_bad_labelled_files(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    choice, content, parts = LABELLED[name]
    side = choice.partition("=")[0]
    (tmp_path / "input").mkdir()
    (tmp_path / "input" / name).write_text(content)
    paths = f"paths.{side}='{tmp_path / 'input'}'"
    assert run_stage("corpus", tmp_path / "out", monkeypatch, choice, paths, f"side={side}") == 2
    message = capsys.readouterr().err
    for part in parts:
        assert part in message, message
    assert not list((tmp_path / "out").rglob("*.parquet"))


def test_dialogues_that_cannot_be_cleaned_leave_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Reading succeeds, cleaning fails: the stage writes both folders or none."""
    (tmp_path / "input").mkdir()
    (tmp_path / "input" / "one.jsonl").write_text('{"prompt": "a", "response": "b"}\n')
    paths = f"paths.instructions='{tmp_path / 'input'}'"
    out = tmp_path / "out"
    assert run_stage("demonstrate", out, monkeypatch, "instructions=text", paths, "side=instructions") == 2
    message = capsys.readouterr().err
    assert "too few to cut" in message and ".partial" not in message
    assert not [path for path in out.rglob("*") if path.suffix == ".parquet" or "partial" in path.name]


def test_crlf_and_byte_order_marks_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from langladder.text.storage.tables import read_table

    path = tmp_path / "text.txt"
    path.write_bytes(b"\xef\xbb\xbffirst line\r\nsecond line\r\n")
    assert corpus(path, tmp_path / "out", monkeypatch) == 0
    table = read_table(tmp_path / "out" / "data" / "raw" / "text" / "all")
    assert table.column("text").to_pylist() == ["first line", "second line"]
    truth = tmp_path / "out" / "data" / "raw" / "text" / "truth"
    sets = {"analogies.txt", "similarity.tsv", "groups.txt", "agreement.jsonl"}
    assert {file.name for file in truth.iterdir()} == sets  # text of one's own brings none, but DVC wants the files
    assert all(file.stat().st_size for file in truth.iterdir())  # and warns of empty ones, once a stage


@pytest.mark.long
def test_a_stage_says_what_it_does_and_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("langladder.ground.progress.FIRST", 0.01)
    monkeypatch.setattr("langladder.ground.progress.EVERY", 0.02)
    assert run_stage("corpus", tmp_path / "out", monkeypatch, "corpus=microworld", "size=tiny", "debug=fast") == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("… corpus")]
    assert any(re.search(r"drawing train: [\d,]+ of [\d,]+ shards \(\d+%\)", line) for line in lines), lines
    assert not progress._always.tasks  # all of it is over


def test_parallel_files_of_different_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.en").write_text("one\ntwo\nthree\n")
    (tmp_path / "a.eo").write_text("unu\ndu\n")
    code = run_stage(
        "corpus",
        tmp_path / "out",
        monkeypatch,
        "side=parallel",
        "parallel=text",
        f"paths.parallel='{tmp_path}'",
        "parallel.source.layout=two_files",
        "parallel.source.files='*.en'",
        "+parallel.source.target_files='*.eo'",
    )
    message = capsys.readouterr().err
    assert code == 2
    assert "3" in message and "2" in message and "a.eo" in message


def test_a_full_disk_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "text.txt"
    path.write_text("one\ntwo\n")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(RowGroups, "add", full)
    assert corpus(path, tmp_path / "out", monkeypatch) == 2
    assert "the disk is full" in capsys.readouterr().err
    left = [file.name for file in (tmp_path / "out").rglob("*") if file.is_file()]
    assert left in ([], ["corpus.log"])  # Hydra's


@pytest.mark.long
def test_an_interrupt_and_too_little_memory_are_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "text.txt"
    path.write_text("one\ntwo\n")
    of_torch = "[enforce fail at alloc_cpu.cpp:121] err == 0. DefaultCPUAllocator: can't allocate memory: you tried"
    errors = {
        KeyboardInterrupt(): (130, r"corpus: interrupted\n"),
        MemoryError(): (2, r"corpus: not enough memory \(allocation failed\); .*training\.batch_size.*\n"),
        MemoryError("Unable to\nallocate 9 TiB"): (2, r"corpus: not enough memory \(Unable to allocate 9 TiB\); .*\n"),
        RuntimeError(of_torch): (2, r"corpus: not enough memory \(\[enforce fail .*\n"),
    }
    for error, (code, pattern) in errors.items():

        def fails(*_: object, error: BaseException = error, **__: object) -> None:
            raise error

        monkeypatch.setattr(RowGroups, "add", fails)
        assert corpus(path, tmp_path / "out", monkeypatch) == code
        lines = [line for line in capsys.readouterr().err.splitlines(keepends=True) if not line.startswith("… ")]
        assert len(lines) == 1 and re.fullmatch(pattern, lines[0]), lines
    left = [file.name for file in (tmp_path / "out").rglob("*") if file.is_file()]
    assert left in ([], ["corpus.log"])
    monkeypatch.setattr(RowGroups, "add", lambda *_: 1 / 0)  # our own mistakes keep their traceback
    with pytest.raises(ZeroDivisionError):
        corpus(path, tmp_path / "out", monkeypatch)


WRONG_NAMES = [
    (["lm=lsmt"], ["lm: 'lsmt' is not a choice: the nearest: lstm", "on the command line"]),
    (["lm=../lm/lstm"], ["'../lm/lstm' is not a choice"]),
    (["-m", "lm=lstm,lsmt,gtp", "size=tinny"], ["3 problems", "'lsmt'", "'gtp'", "nearest: tiny"]),
    (["lm.model.wdith=8"], ["lm.model.wdith: unknown key; the nearest: lm.model.width"]),
    (["sede=1"], ["sede: unknown key; the nearest: side, seed"]),
    (["+experiment=heads"], ["experiment: unknown key", "(a preset: +preset=…)"]),
    (["training.lr=0.1"], ["training.lr: unknown key; the nearest: lm.training.lr"]),
    (["+training.lr=0.1"], ["training.lr: unknown key; the nearest: lm.training.lr"]),
    (["++lm.model.widht=8"], ["lm.model.widht: unknown key", "the nearest: lm.model.width"]),
    (["lm=gpt", "lm.model.sparse_window=8"], ["write + before it: +lm.model.sparse_window=…"]),
    (["~lm.model.tied"], ["lm.model.tied: unknown key"]),
    (["~lm.model.tied", "-m"], ["lm.model.tied: unknown key"]),
    (["-m", "--cfg", "job"], ["--cfg: shows the settings of one run; leave out -m"]),
    (["tagger.training.lr=0.1"], ["tagger.training.lr: train_lm reads no settings of tagger"]),
    (["seed=-1"], ["seed: -1 is not allowed", "greater than or equal to 0"]),
    (["-m", "seed=-1"], ["seed: -1 is not allowed"]),
]
"""Arguments → what is said; `make test-long` tests those after the fifth."""


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [*WRONG_NAMES[:5], *(pytest.param(*item, marks=pytest.mark.long) for item in WRONG_NAMES[5:])],
    ids=str,
)
def test_wrong_names_on_the_command_line_are_refused_in_our_words(
    arguments: list[str],
    parts: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
) -> None:
    assert run_stage("train_lm", tmp_path, monkeypatch, *arguments) == 2
    message = capsys.readouterr().err
    for part in parts:
        assert part in message, message
    assert "Traceback" not in message and "HYDRA_FULL_ERROR" not in message


def test_overrides_stand_together_wherever_they_are_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    """argparse takes them in one place only; letters beyond ASCII are quoted for Hydra's grammar."""
    for typed, arranged in (
        ("~lm.model.tie_weights -m", "seed=1 ~lm.model.tie_weights -m"),
        ("~lm.training.lr --cfg job -p lm.training", "seed=1 ~lm.training.lr --cfg job -p lm.training"),
        ("-m lm=gpt --info defaults a=1", "seed=1 lm=gpt a=1 -m --info defaults"),
        ("--info a=1 --package=lm -cd b=c", "seed=1 a=1 --info --package=lm -cd b=c"),
        ("lm=gpt,модель x='a b'", "seed=1 lm=gpt,'модель' x='a b'"),
    ):
        monkeypatch.setattr(sys, "argv", ["train.py", *re.findall(r"(?:'[^']*'|\S)+", typed)])
        stage._insert("seed=1")
        assert " ".join(sys.argv[1:]) == arranged


def test_wrong_overrides_are_refused_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_stage("corpus", tmp_path, monkeypatch, "corpus=text", "+corpus.source.pth=x") == 2
    assert "corpus.source.pth: unknown key" in capsys.readouterr().err


def test_a_run_folder_that_cannot_be_made_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Hydra makes it before the stage has its say, and would print a traceback."""
    (tmp_path / "file").touch()
    assert run_stage("corpus", tmp_path / "file" / "run", monkeypatch) == 2
    assert f"{tmp_path}/file is a file, not a folder; set hydra.run.dir=" in capsys.readouterr().err
    monkeypatch.setattr("os.access", lambda *_: False)  # as on a disk that is read-only
    assert run_stage("corpus", tmp_path / "run", monkeypatch) == 2
    message = capsys.readouterr().err
    assert f"{tmp_path} cannot be written (read-only, or no permission)" in message and message.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_hydra_writes_over_no_settings_of_another_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine" / ".hydra").mkdir(parents=True)
    (tmp_path / "mine" / ".hydra" / "config.yaml").write_text("mine: 1\n")
    monkeypatch.setattr(sys, "argv", ["corpus.py", f"hydra.run.dir={tmp_path}/mine"])
    with pytest.raises(SystemExit) as end:
        importlib.import_module("pipeline.corpus").main()
    assert end.value.code == 2 and "mine: has a folder .hydra, which Hydra would write over" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "mine").rglob("*")] == [".hydra", "config.yaml"]
    assert (tmp_path / "mine" / ".hydra" / "config.yaml").read_text() == "mine: 1\n"


IN_THE_WAY = {
    "metrics/train_lm/kneser_ney.json": ("train_lm", ["lm=kneser_ney"]),
    "curves/lm/kneser_ney.csv": ("train_lm", ["lm=kneser_ney"]),
    "metrics/vocab.json": ("vocab", []),
    "reports/rungs/lm/kneser_ney.csv": ("evaluate_lm", ["lm=kneser_ney"]),
    "metrics/corpus/tags.json": ("corpus", ["side=tags"]),
}


@pytest.mark.parametrize(
    ("name", "folder"), [*((name, False) for name in IN_THE_WAY), (next(iter(IN_THE_WAY)), True)], ids=str
)
def test_a_file_in_the_way_of_a_single_run_is_found_before_the_work(
    name: str, folder: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def work(*_: object) -> None:
        pytest.fail("it began to work")

    monkeypatch.setattr(stage, "others", work)  # called before the stage's own function
    monkeypatch.setattr(needed, "check_data", lambda _: None)
    (tmp_path / name).parent.mkdir(parents=True)
    if folder:
        (tmp_path / name).mkdir()
    else:
        (tmp_path / name).write_text("mine")
    run, overrides = IN_THE_WAY[name]
    assert run_stage(run, tmp_path, monkeypatch, *overrides) == 2
    message = f"{tmp_path / name}: {'is a folder' if folder else 'this file is not replaced'}"
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(("arguments", "wrong"), [([], "name a family first"), (["gpt"], "'gpt' is not a family here")])
def test_a_stage_of_several_families_names_them_where_none_is_named(
    arguments: list[str], wrong: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["train.py", *arguments, "lm=gpt"])
    with pytest.raises(SystemExit) as end:
        importlib.import_module("pipeline.train").main()
    message = capsys.readouterr().err
    assert end.value.code == 2 and message.startswith(f"train: {wrong}: there are embedding, lm, tune, encoder")
    assert "for example python -m pipeline.train embedding" in message
