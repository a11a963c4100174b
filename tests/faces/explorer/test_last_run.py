"""What the explorer reads of a finished run: scores, years, costs, runs, lineage, curves; damaged and foreign files."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from starlette.applications import Starlette
from starlette.testclient import TestClient

from langladder.faces.cli.serve import explore
from langladder.faces.explorer.app import create
from langladder.faces.http.shelf import Shelf
from langladder.faces.report.inputs import RungMetadata, Timing
from langladder.faces.report.last_run import read_last_run
from langladder.faces.report.tables import ladder_id, ladder_rows, ladder_summary, ladder_timings
from langladder.ground.errors import InputError

FACTS = {"tokens_per_second": 25693.2, "seconds": 86.7, "peak_memory_bytes": 816656384, "run": "4e1e"}

LINEAGE = {"year": 1997, "base": "lm/gru", "reads": "models/reward/r"}


def write_timings(checkout: Path, **rungs: object) -> None:
    ladder = ladder_id(json.loads((checkout / "reports/ladder.json").read_text()))
    timings = {f"lm/{name}": facts for name, facts in rungs.items()}
    (checkout / "reports/timings.json").write_text(json.dumps({"ladder": ladder, "rungs": timings}))


def rung(name: str, title: str, per_word: float) -> dict[str, object]:
    scores = {"tokens": 10, "words": 9, "characters": 50, "bytes": 50, "nll_nats": 20.1, "perplexity_per_token": 7.4}
    scores |= {
        "perplexity_per_word": per_word,
        "bits_per_character": 0.58,
        "bits_per_byte": 0.58,
        "unknown_rate": 0.0,
        "impossible_tokens": 0,
    }
    return {"name": name, "title": title, "approach": "recurrent", "parameters": 12, "scores": scores}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "reports").mkdir()
    ladder = {
        "chosen": {"size": "tiny", "seed": 1},
        "lm": [rung("lstm", "LSTM & co", 9.3) | LINEAGE, rung("gru", "GRU", 9.9)],
    }
    (tmp_path / "reports/ladder.json").write_text(json.dumps(ladder))
    write_timings(tmp_path, lstm=FACTS)
    (tmp_path / "curves/lm").mkdir(parents=True)
    (tmp_path / "curves/lm/lstm.csv").write_text("step,train_loss,validation_loss\n10,3.5,\n20,3.1,3.2\n")
    (tmp_path / "models/lm/lstm").mkdir(parents=True)
    return tmp_path


def test_a_finished_run_is_printed_with_its_years_and_times(checkout: Path) -> None:
    last_run = read_last_run(checkout)
    lstm, gru = last_run.of("lm")
    assert (lstm.metadata.year, lstm.metadata.base, lstm.metadata.reads) == (1997, "lm/gru", "models/reward/r")
    assert (lstm.timing.seconds, lstm.timing.tokens_per_second, lstm.timing.run) == (86.7, 25693.2, "4e1e")
    assert lstm.timing.peak_memory_bytes == 816656384
    assert [(point.step, point.validation_loss) for point in lstm.curve] == [(10, None), (20, 3.2)]
    assert gru.metadata.year is None and gru.timing.run is None and gru.curve == ()
    (table,) = ladder_rows(last_run)
    assert {"tokens/s", "time", "memory"} <= {column.title for column in table.columns}
    assert last_run.meta.size == "tiny"


def test_rungs_of_one_title_have_times_of_their_own(checkout: Path) -> None:
    inputs = read_last_run(checkout)
    lstm, gru = inputs.of("lm")
    other = RungMetadata(title=lstm.title, year=2014)
    twins = [replace(lstm, timing=Timing(seconds=10.0)), replace(gru, metadata=other)]
    twins[1] = replace(twins[1], timing=Timing(seconds=99.0))
    inputs = replace(inputs, rungs={**inputs.rungs, "lm": twins})
    for name, value in (("ladder", ladder_summary(inputs)), ("timings", ladder_timings(inputs))):
        (checkout / f"reports/{name}.json").write_text(json.dumps(value))
    result = read_last_run(checkout).of("lm")
    assert [rung.title for rung in result] == ["LSTM & co", "LSTM & co"]
    assert [rung.timing.seconds for rung in result] == [10.0, 99.0]
    assert [rung.metadata.year for rung in result] == [1997, 2014]


def test_times_of_another_ladder_are_not_shown(checkout: Path) -> None:
    ladder = json.loads((checkout / "reports/ladder.json").read_text())
    ladder["lm"][0]["scores"]["perplexity_per_word"] = 9.2
    (checkout / "reports/ladder.json").write_text(json.dumps(ladder))
    assert {rung.timing for rung in read_last_run(checkout).of("lm")} == {Timing()}


def test_without_timings_the_scores_are_there(checkout: Path) -> None:
    (checkout / "reports/timings.json").unlink()
    (table,) = ladder_rows(read_last_run(checkout))
    assert "time" not in [column.title for column in table.columns]


def test_a_damaged_ladder_is_named(checkout: Path) -> None:
    for text in ("{", "[]", '{"chosen": {}, "lm": [{"name": 3}]}', '{"chosen": 3}'):
        (checkout / "reports/ladder.json").write_text(text)
        with pytest.raises(InputError, match=r"ladder\.json"):
            read_last_run(checkout)


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"seconds": "fast"}, r"lm/lstm\.seconds"),
        ({"seconds": float("1e999")}, r"timings\.json"),
        ({"peak_memory_bytes": [1]}, r"lm/lstm\.peak_memory_bytes"),
        ({"run": {}}, r"lm/lstm\.run"),
        (3, "lm/lstm"),
    ],
)
def test_damaged_timings_are_named(checkout: Path, facts: object, message: str) -> None:
    write_timings(checkout, lstm=facts)
    text = (checkout / "reports/timings.json").read_text().replace("Infinity", "1e999")
    (checkout / "reports/timings.json").write_text(text)
    with pytest.raises(InputError, match=message):
        read_last_run(checkout)
    for text in ("{", "[]", '{"rungs": 3}'):
        (checkout / "reports/timings.json").write_text(text)
        with pytest.raises(InputError, match=r"timings\.json"):
            read_last_run(checkout)


def test_the_page_of_the_ladder_has_the_links(checkout: Path) -> None:
    shelf = Shelf.below([checkout / "models"], project=checkout)
    for tracking, wanted in (
        ("http://127.0.0.1:5000", ["http://127.0.0.1:5000/#/runs/4e1e", None]),
        ("", [None, None]),
    ):
        shelf.tracking = tracking
        with TestClient(create(shelf)) as client:
            (table,) = client.post("/api/ladder/run", json={}).json()["tables"]
        assert [row["link"] for group in table["approaches"] for row in group["rows"]] == wanted


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        ("http://h:5000", "http://h:5000"),
        ("https://me:secret@h/mlflow?a=1", "https://h/mlflow?a=1"),
        ("sqlite:///mlflow.db", ""),
        ("", ""),
    ],
)
def test_the_links_follow_the_tracking_server_and_hide_its_password(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, server: str, expected: str
) -> None:
    (checkout / "models/lm/lstm/config.json").write_text("{}")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server)
    apps: list[Starlette] = []
    monkeypatch.setattr("langladder.faces.http.server.run", lambda app, *_: apps.append(app))
    for more, wanted in (([], expected), (["--mlflow", "http://other"], "http://other")):
        ended = CliRunner().invoke(explore, [str(checkout / "models"), *more])
        assert ended.exit_code == 0, ended.output
        with TestClient(apps.pop()) as client:
            assert client.post("/api/ladder/run", json={}).json()["tracking"] == wanted
