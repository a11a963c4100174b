"""Stage `prompt`: give one task in words to the trained language models; reports/rungs/prompt/<task>.json."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langladder.experiments.experiment import Data
from langladder.families import family
from langladder.ground.artefacts import read_json
from pipeline.provenance.claims import measure
from pipeline.settings.stage import stage


@stage
def main(job: Any, out: Path) -> None:
    models = asked(job.lms, job.tunes)
    data = Data(models=models, titles={name: title(folder) for name, folder in models.items()})
    inputs = {"text": data.text} | {f"model {name}": folder for name, folder in models.items()}
    own = family("prompt").inputs(job.prompt.model_dump(mode="json"))
    measure("prompt", job, data, inputs | {name: Path(path) for name, path in own.items()}, out)


def asked(lms: Sequence[str], tunes: Sequence[str]) -> dict[str, Path]:
    """What each model is called among the figures, and its folder; one that grew may have the name of its base."""
    models = {name: Path("models/lm") / name for name in lms}
    return models | {f"tune/{name}" if name in models else name: Path("models/tune") / name for name in tunes}


def title(folder: Path) -> str:
    """What a reader is shown for it."""
    rung = read_json(folder / "provenance.json")["settings"][folder.parent.name]
    return str(rung["title"])


if __name__ == "__main__":
    main()
