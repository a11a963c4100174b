"""Rungs stand in order of history: each file's own year, which trains nothing again."""

from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir

from langladder.errors import InputError
from pipeline import ROOT
from pipeline.support import choices, history, jobs


@pytest.mark.parametrize("group", choices.LADDERS)
def test_every_file_says_its_own_year(group: str) -> None:
    years = history.years({group: choices.conf_names(group)})[group]
    assert list(years.values()) == sorted(years.values())
    assert set(years) == set(choices.conf_names(group))


def test_the_oldest_come_first_and_ties_stay_as_listed() -> None:
    listed = {"lm": ["gpt", "witten_bell", "lstm", "katz", "gru_reset_before", "gru"]}
    order = ["katz", "witten_bell", "lstm", "gru_reset_before", "gru", "gpt"]
    assert list(history.years(listed)["lm"]) == order
    assert history.years(listed)["lm"]["katz"] == 1987


@pytest.mark.parametrize(
    ("said", "wrong"),
    [("", "lm.year: missing"), ("year: 19877", "19877"), ("year: '1987'", "'1987'"), ("year: 1066", "1066")],
)
def test_a_year_that_is_none_is_refused(said: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "conf" / "lm").mkdir(parents=True)
    for name in ("mine", "yours"):
        (tmp_path / "conf" / "lm" / f"{name}.yaml").write_text(f"name: {name}\n{said}\n")
    monkeypatch.setattr(choices, "ROOT", tmp_path)
    with pytest.raises(InputError) as error:
        history.years({"lm": ["mine", "yours"]})
    for part in (wrong, "conf/lm/mine.yaml", "conf/lm/yours.yaml", "2 problems"):
        assert part in str(error.value)


def test_the_year_is_among_the_reports_settings_alone() -> None:
    """So that mending one runs the report again, and nothing else."""
    chosen = choices.load_choices()
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        config = compose("config", [*choices.overrides(chosen, []), "lm=lstm"])
    assert config.lm.year == 1997
    for stage in ("train_lm", "evaluate_lm"):
        values = jobs.job_values(stage, config, chosen)
        assert values["lm"]["title"] == "LSTM" and "year" not in values["lm"]
    assert jobs.job_values("report", config, chosen)["years"]["lm"]["lstm"] == 1997
