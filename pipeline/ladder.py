"""The full ladder: list every rung that conf/ offers in params.yaml (`make repro LADDER=full`).

The change can be seen with `git diff params.yaml` and taken back with `git checkout params.yaml`.
"""

import re

from langladder.artefacts import write_text
from pipeline import ROOT
from pipeline.support import choices


def full(text: str, chosen: choices.Choices) -> str:
    """params.yaml with every rung listed, those that were chosen first; comments stay."""
    for group, key in choices.LADDERS.items():
        listed = chosen.rungs(group)
        rungs = listed + [name for name in choices.conf_names(group) if name not in listed]
        text, lines = re.subn(rf"(?m)^{key}: \[[^\]]*\]", f"{key}: [{', '.join(rungs)}]", text)
        if lines != 1:
            raise SystemExit(f"params.yaml: {key}: expected one list in square brackets")
    return text


def main() -> None:
    path = ROOT / "params.yaml"
    write_text(path, full(path.read_text(encoding="utf-8"), choices.load_choices()))
    print("ladder: params.yaml lists every rung")


if __name__ == "__main__":
    main()
