"""Rungs that start from rungs, edits that run only what they touch, sweeps that skip what is done, and a new family.

The tests of this module run in order and share one copy of the project: each begins where the one before left off.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import toy_family
from project_copy import LADDER, PATH, edit, finished_project, forking, ran, run, smallest

pytestmark = [pytest.mark.long, pytest.mark.dag, pytest.mark.timeout(1800)]

CHAIN = {"first": {"base": "lm/lstm"}, "second": {"base": "tune/first"}}
REPORT = {"resolve", "report"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A counted rung, a trained one, and a chain of two that starts from it."""
    folder = finished_project(tmp_path_factory)
    rungs = {"embeddings": ["svd", "skipgram"], "tunes": CHAIN, "translators": [], "claims": ["gradient_flow"]}
    smallest(folder, data=LADDER["data"], **rungs)
    for name in CHAIN:
        text = (folder / "conf" / "lm" / "gpt_longer.yaml").read_text()
        text = text.replace("gpt_longer", name).replace("base: lm/gpt", f"base: {CHAIN[name]['base']}")
        (folder / "conf" / "lm" / f"{name}.yaml").write_text(text)
    (folder / "input" / "vectors").mkdir(parents=True, exist_ok=True)
    run(folder, "git", "add", "-A")
    run(folder, "git", "commit", "-qm", "a chain")
    with forking(folder):
        yield folder


def stale(project: Path) -> set[str]:
    """The jobs that are out of date now that the settings are resolved anew; those that wait for them not counted."""
    run(project, "dvc", "repro", "-q", "-s", "resolve")
    run(project, "git", "checkout", "-q", "--", "dvc.yaml")
    return set(json.loads(run(project, "dvc", "status", "--json"))) - REPORT


def provenance(project: Path, rung: str) -> dict[str, object]:
    content: dict[str, object] = json.loads((project / "models" / rung / "provenance.json").read_text())
    return content


def test_a_chain_is_made_in_order(project: Path) -> None:
    output = run(project, "dvc", "repro")
    assert {"fine_tune@first", "fine_tune@second", "evaluate_tune@second"} <= ran(output)
    assert output.index("Running stage 'fine_tune@first'") < output.index("Running stage 'fine_tune@second'")
    assert not {job for job in ran(output) if job.startswith(("train_lm", "embed"))}  # they were made before
    lineage = provenance(project, "tune/second")["lineage"]
    assert [base["rung"] for base in lineage] == ["tune/first", "lm/lstm"]  # type: ignore[attr-defined]
    assert "It starts from tune/first" in (project / "models" / "tune" / "second" / "README.md").read_text()


def test_the_chain_is_printed_down_to_the_corpus(project: Path) -> None:
    output = run(project, "python", "-m", "pipeline.runs", "lineage", "models/tune/second")
    lines = [
        "tune/second",
        "starts from tune/first",
        "starts from lm/lstm",
        "tokenize@text",
        "clean@text",
        "corpus@text",
    ]
    positions = [output.index(part) for part in lines]
    assert positions == sorted(positions)


def test_runs_carry_their_base_and_evaluations_lead_to_the_artefact(project: Path) -> None:
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{project / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("language models")
    result = {run.info.run_name: run for run in client.search_runs([experiment.experiment_id])}
    tuned, judged = result["fine_tune second"], result["evaluate_tune second"]
    assert tuned.data.tags["base"] == "tune/first"
    assert tuned.data.tags["base_fingerprint"] == provenance(project, "tune/first")["fingerprint"]
    for item in (tuned, judged):
        output = run(project, "python", "-m", "pipeline.runs", "artefact", item.info.run_id)
        assert output.strip().endswith("models/tune/second")


def test_the_report_draws_the_tree(project: Path) -> None:
    page = (project / "reports" / "index.html").read_text()
    assert "Family tree" in page and "Language models that start from others" not in page  # one table for both


def test_the_report_comes_back_without_running(project: Path) -> None:
    page = (project / "reports" / "index.html").read_bytes()
    (project / "reports" / "index.html").unlink()
    assert ran(run(project, "dvc", "repro")) == set()
    assert (project / "reports" / "index.html").read_bytes() == page


def test_a_title_or_a_progress_setting_retrains_nothing(project: Path) -> None:
    edit(project / "conf" / "lm" / "lstm.yaml", "title: LSTM", "title: Long short-term memory")
    edit(project / "conf" / "training" / "default.yaml", "checkpoint_every: 200", "checkpoint_every: 100")
    assert ran(run(project, "dvc", "repro")) == REPORT
    assert "Long short-term memory" in (project / "reports" / "index.html").read_text()


def test_code_runs_again_only_what_it_is_part_of(project: Path) -> None:
    vector_formats = project / "src" / "langladder" / "formats" / "vector_formats.py"
    before = vector_formats.read_text()
    vector_formats.write_text(before + "\nNEW = 1\n")
    assert not {job for job in stale(project) if job.startswith(("train_lm", "fine_tune", "embed"))}
    vector_formats.write_text(before)
    edit(project / "src" / "langladder" / "tasks" / "muon.py", "import torch\n", "import torch\n\nNEW = 1\n")
    changed = stale(project)
    assert "train_lm@lstm" in changed and not {"embed@svd", "embed@skipgram", "train_lm@kneser_ney"} & changed
    edit(project / "src" / "langladder" / "tasks" / "muon.py", "\nNEW = 1\n", "")
    assert stale(project) == set()


def test_a_new_file_of_vectors_runs_only_what_begins_with_it(project: Path) -> None:
    """The jobs that note inputs run; what they note of other rungs is what it was."""
    (project / "input" / "vectors" / "mine.vec").write_text("cat 1 2\n")
    watching = {"watch@lm", "watch@classifier", "watch@tagger"}
    assert stale(project) == watching
    assert ran(run(project, "dvc", "repro")) == watching
    lexicon = project / "input" / "lexicon"
    (lexicon / "mine.tsv" if lexicon.is_dir() else lexicon).write_text("big large\n")
    assert ran(run(project, "dvc", "repro")) == {"watch@embedding"}


def test_an_edited_base_runs_what_is_fine_tuned_from_it(project: Path) -> None:
    edit(project / "conf" / "lm" / "lstm.yaml", "width: ${size.lm_width}", "width: 48")
    output = ran(run(project, "dvc", "repro"))
    assert {"train_lm@lstm", "fine_tune@first", "fine_tune@second", "evaluate_tune@second"} <= output
    assert not {job for job in output if "kneser_ney" in job or job.startswith("embed")}


def test_a_sweep_skips_what_is_done(project: Path) -> None:
    sweep = ["python", "-m", "pipeline.train", "lm", "-m", "lm=add_k,kneser_ney", "seed=1"]
    first = run(project, *sweep)
    assert "kneser_ney" in first and "done before" in first and "models/lm/kneser_ney" in first
    assert "train_lm add_k: " in first
    second = run(project, *sweep)
    assert (
        second.count("done before") == 2 and "again=true runs it again" in second and "train_lm add_k: " not in second
    )
    again = run(project, *sweep, "again=true")
    assert "done before" not in again and again.count("validation perplexity") == 2


def test_a_family_of_ones_own(project: Path) -> None:
    """A module, a folder in conf/ and two stages: no other file is touched, but for the line that chooses the rung."""
    touched = toy_family.add(project)
    assert touched == {"dvc.yaml", "params.yaml"}
    output = run(project, "env", f"PATH={PATH}", "dvc", "repro")  # the forks do not know it
    assert ran(output) >= {"train_opening@first_word", "evaluate_opening@first_word", "report"}
    assert not {job for job in ran(output) if job.startswith(("train_lm", "embed", "fine_tune"))}
    page = (project / "reports" / "index.html").read_text()
    assert "Opening words" in page and "begins as guessed" in page and "The first word" in page
    summary = run(project, sys.executable, "-m", "pipeline.summary")
    assert "Opening words" in summary
    card = (project / "models" / "opening" / "first_word" / "README.md").read_text()
    assert "The first word" in card and "Opening.load" in card
    from mlflow import MlflowClient

    assert MlflowClient(f"sqlite:///{project / 'mlflow.db'}").get_experiment_by_name("openings") is not None
    make = "from pipeline import ladder; from pipeline.settings import params; ladder.make(params.load())"
    run(project, sys.executable, "-c", make)
    assert "first_word" in (project / "ladders" / "full" / "params.yaml").read_text()
    broken = run(project, sys.executable, "-m", "pipeline.train", "opening", "opening.model.words=0", check=False)
    assert "opening.model.words: 0 is not allowed" in broken and "change it on the command line" in broken


def test_it_answers_wherever_the_others_do(project: Path) -> None:
    """By a command, in Python, through MLflow and in the explorer, by the same declaration."""
    here = ["env", "PYTHONPATH=src", sys.executable]
    (project / "lines.txt").write_text("zzz sleeps .\n" * 4)
    command = [*here, "-m", "langladder", "evaluate"]
    judged = json.loads(run(project, *command, "models/opening/first_word", "lines.txt", "--json"))
    assert judged["kind"] == "opening" and judged["figures"] == {"begins as guessed": 0.0}
    refused = run(project, *command, "models/embedding/svd", "lines.txt", check=False)
    assert "a model of embedding; supported: lm, classifier, tagger, reader, translator, opening" in refused
    content = json.loads(run(project, *here, "-W", "ignore", "-c", toy_family.ASKED).splitlines()[-1])
    assert content["repr"] == "<Model first_word (family opening, Opening): predict>"
    assert content["python"] == content["mlflow"] and not content["python"][1]["guessed"]
    assert content["models"] == [{"name": "first_word", "title": "The first word", "kind": "opening"}]
    assert "Opening words" in content["tables"]
    assert [item["text"] for item in content["unknown"][0]["unknown"]] == ["zzz"]
