"""Small files that several stages write."""

import csv
import io
from pathlib import Path
from typing import Any

from langladder.artefacts import write_text


def write_curve(path: Path, rows: list[dict[str, Any]]) -> None:
    """A learning curve as CSV (step, train_loss, validation_loss, lr); a header alone for what has no steps."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, ["step", "train_loss", "validation_loss", "lr"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, buffer.getvalue())
