"""A Lightning logger for an open MLflow run: it logs the curve and does not end the run.

(Lightning's own MLFlowLogger ends the run as FINISHED at the end of `fit`, before the model is scored and saved.)
"""

from collections.abc import Callable, Mapping

from pytorch_lightning.loggers import Logger


class CurveLogger(Logger):
    """Passes the numbers of a training to `log(values, step)`."""

    def __init__(self, log: Callable[[Mapping[str, float], int], None], name: str) -> None:
        super().__init__()
        self._log, self._name = log, name

    @property
    def name(self) -> str:
        """The run's name."""
        return self._name

    @property
    def version(self) -> str:
        """Empty: the run has its own id."""
        return ""

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        """Numbers of one step."""
        self._log(metrics, step or 0)

    def log_hyperparams(self, *args: object, **kwargs: object) -> None:
        """Nothing: the run has its parameters from its beginning."""
