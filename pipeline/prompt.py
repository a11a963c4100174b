"""Stage `prompt`: give one task in words to the trained language models; reports/rungs/prompt/<task>.json."""

from pathlib import Path
from typing import Any

from langladder.artefacts import read_json
from langladder.experiments.experiment import Data
from langladder.families import family
from pipeline.provenance.claims import measure
from pipeline.settings.stage import stage


@stage
def main(job: Any, out: Path) -> None:
    models = {name: Path("models/lm") / name for name in job.lms}
    titles = {name: read_json(folder / "provenance.json")["settings"]["lm"]["title"] for name, folder in models.items()}
    data = Data(models=models, titles=titles)
    inputs = {"text": data.text} | {f"model {name}": folder for name, folder in models.items()}
    own = family("prompt").inputs(job.prompt.model_dump(mode="json"))
    measure("prompt", job, data, inputs | {name: Path(path) for name, path in own.items()}, out)


if __name__ == "__main__":
    main()
