"""Stage `experiment`: measure one claim on small networks of its own; reports/rungs/experiment/<claim>.json."""

from pathlib import Path
from typing import Any

from langladder.experiments.experiment import Data
from pipeline.provenance.claims import measure
from pipeline.settings.stage import stage


@stage
def main(job: Any, out: Path) -> None:
    data = Data(bleu_tokenize=job.bleu_tokenize)
    measure("experiment", job, data, {}, out)  # each reads what its class says


if __name__ == "__main__":
    main()
