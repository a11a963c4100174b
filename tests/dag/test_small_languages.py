"""Every command of docs/small-languages.md, in the order of the page, on 50 kB of a made-up language."""

import json
import random
import re
import shlex
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml
from project_copy import forking, run

from langladder.faces.cli.new import SMALL_TEXT
from pipeline import ROOT

PAGE = (ROOT / "docs" / "small-languages.md").read_text(encoding="utf-8")
CONSONANTS, SIGNS = "ကခဂငစဆတထဒနပဖဘမယရလဝသဟအ", ("", "ာ", "ိ", "ု", "ေ", "ို", "က်", "င်", "န်း", "ျား")


def commands() -> list[list[str]]:
    lines = [line for block in re.findall(r"(?ms)^```console\n(.*?)^```", PAGE) for line in block.splitlines()]
    assert all(line.startswith("$ ") for line in lines)
    return [shlex.split(command) for line in lines for command in line[2:].split(" && ")]


def field_notes(size: int) -> str:
    """Sentences of words between spaces; frequent words are frequent, and roots take endings."""
    draw = random.Random(7)
    roots = [
        "".join(draw.choice(CONSONANTS) + draw.choice(SIGNS) for _ in range(draw.randrange(1, 4))) for _ in range(400)
    ]
    endings = ["", "", "သည်", "များ", "ကို", "၏"]
    weights = [1 / rank for rank in range(1, len(roots) + 1)]
    lines, written = [], 0
    while written < size:
        words = [root + draw.choice(endings) for root in draw.choices(roots, weights, k=draw.randrange(3, 9))]
        lines.append(" ".join(words) + "။")
        written += len(lines[-1].encode()) + 1
    return "\n".join(lines) + "\n"


def test_the_settings_of_the_page_are_those_of_the_command() -> None:
    [block] = re.findall(r"(?ms)^```yaml\n(.*?)^```", PAGE)
    assert yaml.safe_load(block) == SMALL_TEXT
    assert PAGE.count("\n") <= 150


@pytest.mark.long
@pytest.mark.dag
@pytest.mark.timeout(1800)
def test_every_command_of_the_page_works(tmp_path: Path) -> None:
    text = field_notes(50_000)
    (tmp_path / "lines.txt").write_text(text, encoding="utf-8")
    folder, outputs = tmp_path, {}
    with ExitStack() as stack:
        for command in commands():
            if command[0] == "cd":
                folder /= command[1]
                for setting in ("user.name=Field", "user.email=field@example.org"):
                    run(folder, "git", "config", *setting.split("="))
                stack.enter_context(forking(folder))
                continue
            outputs[" ".join(command[:3])] = run(folder, *command)
    assert "at most 200 kB of text, so params.yaml has size: tiny" in outputs["langladder new mine"]
    assert "Networks are not worth their time" in outputs["langladder advise"]
    assert "\ufffd" not in outputs["langladder generate models/lm/kneser_ney"]
    [row] = re.findall(r"Kneser–Ney 5-gram +(\d\.\d+) +(\d\.\d+)", outputs["python -m pipeline.compare"])
    assert 0 < float(row[0]) != float(row[1]) > 0  # another split, another figure
    for name in re.findall(r"`((?:reports|my_tokenizer|words)[\w/.*]*\.\w+)`", PAGE):
        assert [*folder.glob(name)], name
    figures = [
        json.loads((folder / "metrics" / "evaluate_lm" / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("kneser_ney", "kneser_ney_3")
    ]
    assert 0 < figures[0]["bits_per_character"] < figures[1]["bits_per_character"] < 5
    assert f"{figures[0]['bits_per_character']:.3f}" == row[0]  # the first run is back
    library = "import tokenizers, sys; print(*tokenizers.Tokenizer.from_file(sys.argv[1]).encode(sys.argv[2]).tokens)"
    tokenizer = folder / "my_tokenizer" / "data" / "tokens" / "text" / "tokenizer.json"
    pieces = run(folder, "python", "-c", library, str(tokenizer), text.splitlines()[0])
    assert "".join(pieces.split()).replace("▁", " ").strip() == text.splitlines()[0]
