"""Stage `probe`: measure one claim on the trained language models of the ladder; reports/rungs/probe/<claim>.json."""

from pathlib import Path
from typing import Any

from langladder.experiments.experiment import Data
from langladder.ground.artefacts import read_json
from pipeline.provenance.claims import measure
from pipeline.settings.stage import stage


@stage
def main(job: Any, out: Path) -> None:
    models = {name: Path("models/lm") / name for name in job.lms}
    titles = {name: read_json(folder / "provenance.json")["settings"]["lm"]["title"] for name, folder in models.items()}
    data = Data(models=models, titles=titles, agreement=Path(job.agreement))
    inputs = {"text": data.text, "agreement": data.agreement}
    measure("probe", job, data, inputs | {f"model {name}": folder for name, folder in models.items()}, out)


if __name__ == "__main__":
    main()
