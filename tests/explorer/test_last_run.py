"""What the explorer reads of a finished run: scores, years, costs, runs, lineage, curves; damaged and foreign files."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from starlette.applications import Starlette
from starlette.testclient import TestClient

from langladder.cli.explore import explore
from langladder.errors import InputError
from langladder.explorer.app import create
from langladder.explorer.last_run import grown, last_run, page_facts
from langladder.reporting.tables import ladder_rows
from langladder.serving.shelf import Shelf

ROW = (
    '<tr data-place="1"><th scope="row">{title} <span class="faint small">{year}</span></th>'
    '<td class="number" data-value="9.3">9.30</td><td class="number" data-value="{speed}">26 k</td>'
    '<td class="number" data-value="{time}">{time} s</td><td class="number" data-value="{memory}">817 MB</td></tr>'
)
PAGE = (
    '<div class="wide" aria-label="Language models"><table class="sortable"><caption>Bold</caption>'
    "<thead><tr><th>rung</th><th>perplexity per word</th><th>tokens/s</th><th>time</th><th>memory</th></tr></thead>"
    '<tbody><tr class="approach"><th colspan="5">recurrent</th></tr>{rows}</tbody></table></div>'
    '<div class="wide" aria-label="The runs behind this page"><table><thead><tr><th>family</th><th>rung</th>'
    "<th>MLflow run</th></tr></thead><tbody><tr><td>Language models</td><td>LSTM &amp; co</td>"
    "<td><code>4e1e</code></td></tr></tbody></table></div>"
)


def page_of(title: str = "LSTM &amp; co", **values: object) -> str:
    told = {"year": 1997, "speed": 25693.2, "time": 86.7, "memory": 816656384} | values
    return PAGE.format(rows=ROW.format(title=title, **told))


def rung(name: str, title: str, per_word: float) -> dict[str, object]:
    scores = {"tokens": 10, "words": 9, "bytes": 50, "nll_nats": 20.1, "perplexity_per_token": 7.4}
    scores |= {"perplexity_per_word": per_word, "bits_per_byte": 0.58, "unknown_rate": 0.0, "impossible_tokens": 0}
    return {"name": name, "title": title, "approach": "recurrent", "parameters": 12, "scores": scores}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "reports").mkdir()
    ladder = {"chosen": {"size": "tiny", "seed": 1}, "lm": [rung("lstm", "LSTM & co", 9.3), rung("gru", "GRU", 9.9)]}
    (tmp_path / "reports/ladder.json").write_text(json.dumps(ladder))
    (tmp_path / "reports/index.html").write_text(page_of())
    (tmp_path / "curves/lm").mkdir(parents=True)
    (tmp_path / "curves/lm/lstm.csv").write_text("step,train_loss,validation_loss\n10,3.5,\n20,3.1,3.2\n")
    (tmp_path / "models/lm/lstm").mkdir(parents=True)
    about = {"lineage": [{"rung": "lm/gru", "title": "GRU"}], "settings": {"lm": {"reads": "models/reward/r"}}}
    (tmp_path / "models/lm/lstm/provenance.json").write_text(json.dumps(about))
    return tmp_path


def test_a_finished_run_is_told_with_what_its_report_shows(place: Path) -> None:
    found = last_run(place)
    lstm, gru = found.of("lm")
    assert (lstm.told.year, lstm.told.base, lstm.told.reads) == (1997, "lm/gru", "models/reward/r")
    assert (lstm.timing.seconds, lstm.timing.tokens_per_second, lstm.timing.run) == (86.7, 25693.2, "4e1e")
    assert lstm.timing.peak_memory_bytes == 816656384
    assert [(point.step, point.validation_loss) for point in lstm.curve] == [(10, None), (20, 3.2)]
    assert gru.told.year is None and gru.timing.run is None and gru.curve == ()
    (table,) = ladder_rows(found)
    assert {"tokens/s", "time", "memory"} <= {column.title for column in table.columns}
    assert found.meta.size == "tiny"


def test_without_a_page_the_scores_are_there_and_without_a_ladder_nothing(place: Path, tmp_path: Path) -> None:
    (place / "reports/index.html").unlink()
    (table,) = ladder_rows(last_run(place))
    assert "time" not in [column.title for column in table.columns]
    assert last_run(tmp_path / "nowhere") is None


def test_a_damaged_ladder_is_named(place: Path) -> None:
    for text in ("{", "[]", '{"chosen": {}, "lm": [{"name": 3}]}', '{"chosen": 3}'):
        (place / "reports/ladder.json").write_text(text)
        with pytest.raises(InputError, match=r"ladder\.json"):
            last_run(place)


@pytest.mark.parametrize("year", ["9" * 5000, "soon", "²"])
def test_numbers_of_a_foreign_page_that_are_none_are_left_out(year: str, tmp_path: Path) -> None:
    (tmp_path / "p.html").write_text(page_of(year=year, speed="fast", time="", memory="nan"))
    (shown,) = page_facts(tmp_path / "p.html", {"Language models": "lm"}).values()
    assert shown.year is None and not shown.costs and shown.run == "4e1e"


def test_another_page_tells_nothing(tmp_path: Path) -> None:
    path = tmp_path / "p.html"
    for text in ("", "<table>", "</td></tr></table>", "<td>x", "<tr><td>1<td>2", page_of().replace("<table", "<div")):
        path.write_text(text)
        assert not page_facts(path, {"Language models": "lm"})


def test_a_strangers_provenance_is_no_lineage(tmp_path: Path) -> None:
    strange = ("{", "3", '{"lineage": 3}', '{"lineage": [3]}', '{"lineage": [{"rung": 3}], "settings": []}')
    for text in strange:
        (tmp_path / "provenance.json").write_text(text)
        assert grown(tmp_path) == (None, None)
    assert grown(tmp_path / "nowhere") == (None, None)


def test_the_page_of_the_ladder_has_the_links(place: Path) -> None:
    shelf = Shelf.below([place / "models"], place=place)
    for tracking, wanted in (
        ("http://127.0.0.1:5000", ["http://127.0.0.1:5000/#/runs/4e1e", None]),
        ("", [None, None]),
    ):
        shelf.tracking = tracking
        with TestClient(create(shelf)) as client:
            (table,) = client.post("/api/ladder/run", json={}).json()["tables"]
        assert [row["link"] for group in table["approaches"] for row in group["rows"]] == wanted


@pytest.mark.parametrize(
    ("server", "shown"),
    [
        ("http://h:5000", "http://h:5000"),
        ("https://me:secret@h/mlflow?a=1", "https://h/mlflow?a=1"),
        ("sqlite:///mlflow.db", ""),
        ("", ""),
    ],
)
def test_the_links_follow_the_tracking_server_and_hide_its_password(
    place: Path, monkeypatch: pytest.MonkeyPatch, server: str, shown: str
) -> None:
    (place / "models/lm/lstm/config.json").write_text("{}")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server)
    apps: list[Starlette] = []
    monkeypatch.setattr("langladder.serving.starting.run", lambda app, *_: apps.append(app))
    for more, wanted in (([], shown), (["--mlflow", "http://other"], "http://other")):
        ended = CliRunner().invoke(explore, [str(place / "models"), *more])
        assert ended.exit_code == 0, ended.output
        with TestClient(apps.pop()) as client:
            assert client.post("/api/ladder/run", json={}).json()["tracking"] == wanted
