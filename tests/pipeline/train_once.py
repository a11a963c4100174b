"""A tiny training in its run; as a script, one that is killed outright at a step: `train_once.py CHECKOUT STEP`."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

from langladder.models.making import Run

HERE = Path(__file__).resolve().parent


def train_once(job: Any) -> list[dict[str, Any]]:
    """Train the job's model; returns the learning curve."""
    if str(HERE.parent / "tasks") not in sys.path:
        sys.path.append(str(HERE.parent / "tasks"))
    from small_run import make_model, make_stream, settings

    from langladder.tasks.language_modelling import train_language_model
    from langladder.tasks.settings import LMTrainingConfig
    from pipeline.tracking.job import tracked_job

    with tracked_job("train_lm", job, {}) as work:
        result = train_language_model(
            make_model("lstm"),
            make_stream(1),
            make_stream(2),
            LMTrainingConfig(**settings(checkpoint_every=100)),  # checkpoints at validations: 5, 10, 15
            Run(1, work.checkpoints, work.run.lightning_logger),
        )
        work.write_curve(Path("curve.csv"), result.curve)
        work.run.metrics({"seconds": result.cost["seconds"]})
    return result.curve


if __name__ == "__main__":
    sys.path[:0] = [str(HERE), str(HERE.parent.parent), str(HERE.parent.parent / "src")]
    from conftest import FakeJob

    from langladder.tasks.language_modelling import LanguageModelling
    from pipeline.tracking import fingerprint, run

    fingerprint.ROOT = Path(sys.argv[1])  # type: ignore[attr-defined]
    run.EVERY = 0.0
    loss = LanguageModelling.loss

    def dies(self: Any, batch: Any) -> Any:
        if self.steps_done == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)
        return loss(self, batch)

    LanguageModelling.loss = dies  # type: ignore[method-assign]
    train_once(FakeJob())
