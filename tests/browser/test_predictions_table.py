"""The report's tables of predictions, filtered by rung, by right and wrong, and by a word."""

import re
from pathlib import Path
from typing import Any

from langladder.faces.report import page

ROWS = [("a", "right", "good film"), ("a", "wrong", "bad film"), ("b", "wrong", "good day")]


def test_rows_are_chosen(chromium: Any) -> None:
    script = (Path(page.__file__).parent / "templates" / "predictions.js").read_text(encoding="utf-8")
    cells = "".join(f'<tr data-rung="{a}" data-right="{b}"><th>{a.upper()}</th><td>{c}</td></tr>' for a, b, c in ROWS)
    opened = chromium.new_page()
    opened.set_content(f'<div class="wide"><table class="predictions"><tbody>{cells}</tbody></table></div>')
    opened.add_script_tag(content=script)

    def visible_rows() -> list[str]:
        return [re.sub(r"\s+", " ", text) for text in opened.locator("tr:visible td").all_inner_texts()]

    rung, right = opened.locator("select").all()
    assert rung.locator("option").all_inner_texts() == ["every rung", "A", "B"] and len(visible_rows()) == 3
    right.select_option("wrong")
    assert visible_rows() == ["bad film", "good day"]
    rung.select_option("a")
    assert visible_rows() == ["bad film"]
    right.select_option("")
    opened.locator("input").fill("GOOD")
    assert visible_rows() == ["good film"]
