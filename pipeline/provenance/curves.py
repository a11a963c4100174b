"""Learning curves as files."""

import csv
import io
from pathlib import Path
from typing import Any

from langladder.ground.artefacts import write_text


def write_curve(path: Path, rows: list[dict[str, Any]]) -> None:
    """A learning curve as CSV (step, train_loss, validation_loss, lr, what else there is); no steps, a header alone."""
    buffer = io.StringIO()
    columns = dict.fromkeys(["step", "train_loss", "validation_loss", "lr", *(name for row in rows for name in row)])
    writer = csv.DictWriter(buffer, list(columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, buffer.getvalue())
