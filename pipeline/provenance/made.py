"""What the stages that make rungs share: call the maker that the rung names, keep the model with what belongs to it."""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from langladder.ground.artefacts import figures_to_json, write_json
from langladder.ground.progress import working
from langladder.ground.ranks import first
from langladder.ground.schema import locate_function
from langladder.models.making import Run
from pipeline.provenance.finished import Trained
from pipeline.provenance.job import TrackedJob
from pipeline.settings.run_folder import output


def make(work: TrackedJob, rung: Any, seed: int, start: Any, *data: Any, **more: Any) -> Any:
    """What the rung's maker gives (`langladder.models.making`, `langladder.embeddings.making`).

    Args:
        start: what it begins with: a model, to be trained in place; a class; the folder of its base.
        data: what it reads, in the maker's order.

    Raises:
        Trained: several processes have trained, and this is not the first.
    """
    with working("loading what makes it"):  # Lightning takes its time: only for those that need it
        maker = locate_function(rung.maker)
    logger = work.run.lightning_logger if first() else None
    made = maker(start, *data, run=Run(seed, work.checkpoints, logger), **more)
    if not first():
        raise Trained
    return made


def keep(
    work: TrackedJob,
    out: Path,
    model: Any,
    made: Any,
    figures: Mapping[str, Any],
    *,
    said: str,
    beside: Callable[[Path], object] | None = None,
) -> None:
    """Write the model, its curve and its figures; log them with what the machine took; say it in a line.

    Args:
        made: how it went: `curve` and `cost`.
        said: what the line says of the figures.
        beside: writes into the model's folder what it cannot be used without.
    """
    place = output(out, "models", work.family, work.rung)
    with work.artefact(place) as folder:
        model.save(folder)
        if beside:
            beside(folder)
    if skipped := getattr(made, "vectors_skipped", 0):
        figures = {**figures, "vectors_skipped": skipped}
    work.write_curve(output(out, "curves", work.family, work.rung, ending=".csv"), made.curve)
    write_json(output(out, "metrics", work.stage, work.rung, ending=".json"), figures_to_json(figures))
    work.run.metrics({**figures, **made.cost})
    print(f"{work.stage} {work.rung}: {made.cost['seconds']:.0f} s, {said} → {place}")


def copies_of(*files: Path) -> Callable[[Path], None]:
    """For `keep`: copies files into the model's folder."""

    def copy(folder: Path) -> None:
        for file in files:
            shutil.copy(file, folder)

    return copy


def watched(model: Any, made: Any) -> tuple[dict[str, Any], str]:
    """The figures of a model that was trained against a validation loss, and what the line says of them."""
    loss = made.validation_loss
    shown = "–" if loss is None else f"{loss:.4f}"  # nothing was measured
    return {"parameters": model.number_of_parameters(), "validation_loss": loss}, f"validation loss {shown}"
