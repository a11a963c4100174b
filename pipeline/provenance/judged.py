"""What the stages that judge rungs share: write the page that says what was found, and its figures."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import mean
from typing import Any

from langladder.evaluation.page import Page, Work
from langladder.ground.artefacts import figures_to_json, write_json
from pipeline.provenance.job import TrackedJob
from pipeline.settings.run_folder import output


def keep_page(work: TrackedJob, out: Path, page: Page, *, aside: Mapping[str, Any] | None = None) -> None:
    """Write the page, which the report reads, and its figures.

    Args:
        aside: what of the page stays out of the file, as pydantic's `exclude`.
    """
    write_json(
        output(out, "reports/rungs", work.family, work.rung, ending=".json"),
        page.model_dump(mode="json", exclude=aside),
    )
    write_json(output(out, "metrics", work.family, work.rung, ending=".json"), figures_to_json(page.figures()))


def work_of_reader(model: Any, rung: Any, lengths: Iterable[int]) -> Work | None:
    """Operations and memory of a network that reads whole texts, as it is trained; None where no gradient trained it.

    Args:
        rung: its settings. lengths: pieces of each text.
    """
    training = getattr(rung, "training", None)
    if training is None:
        return None
    from langladder.evaluation.work import work_of  # torch only for those that need it

    if hasattr(rung, "input") and rung.input.frozen:
        model.embedding.weight.requires_grad_(False)
    length = max(1, round(mean(lengths)))
    return work_of(model, training.optimizer, rows=training.batch_size, length=length)


def judged(work: TrackedJob, out: Path, page: Page, model: Path, scores: Mapping[str, Any] | None = None) -> None:
    """Write the page of a model; log what it scores to this run and to the one that trained it.

    Args:
        model: its folder.
        scores: what is logged; None: the figures of the page.
    """
    keep_page(work, out, page)
    work.run.test_scores(model, page.figures() if scores is None else scores)
