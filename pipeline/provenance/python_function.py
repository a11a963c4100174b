"""A model as MLflow's python function: the files beside it that say how it is loaded, asked, and what it answers.

    MLmodel                     loader module, signature, where the example is: what `mlflow.pyfunc.load_model` reads
    input_example.json          a row that the model can answer; serving_input_example.json, as a server takes it
    requirements.txt            the wheel, and MLflow; python_env.yaml, for environments that MLflow makes
    langladder.json             where the model lies, see `langladder.faces.mlflow.loading`
    README.md, provenance.json  its card, and what it was made from
    models/…                    the model itself, of a registered one: a copy, and no pickle in it

MLflow's own `save_model` would look through all installed packages, half a second a run; these are its files without.
"""

import json
import platform
import shutil
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

from langladder.faces.http.choosers import METHOD
from langladder.faces.mlflow.loading import POINTER, kind_of
from langladder.ground.artefacts import read_json, write_json, write_text
from pipeline import ROOT
from pipeline.provenance.lineage import provenance

LOADER = "langladder.faces.mlflow"
EXAMPLE, SERVED = "input_example.json", "serving_input_example.json"
CARDS = ("README.md", "provenance.json")


def write_description(folder: Path, out: Path, *, run_id: str, model_id: str) -> None:
    """Write what describes the model in `folder`, and no copy of it; of what answers no rows, its cards alone.

    Raises:
        InputError: the folder is damaged.
    """
    from mlflow.models import Model, ModelSignature
    from mlflow.pyfunc import add_to_model

    for card in CARDS:
        if (folder / card).is_file():
            shutil.copy(folder / card, out)
    kind = kind_of(folder)
    if kind is None:
        return
    example = {"inputs": {name: [value] for name, value in kind.example(folder).items()}}
    example |= {"params": dict(kind.asks)} if kind.asks else {}
    described = Model(
        run_id=run_id,
        model_id=model_id,
        signature=ModelSignature.from_dict(kind.signature()),
        saved_input_example_info={
            "artifact_path": EXAMPLE,
            "serving_input_path": SERVED,
            "type": "json_object",
            **({"params": "true"} if kind.asks else {}),
        },
    )
    add_to_model(described, LOADER, python_env="python_env.yaml")  # type: ignore[no-untyped-call]
    described.save(str(out / "MLmodel"))
    for name in (EXAMPLE, SERVED):
        write_text(out / name, json.dumps(example, ensure_ascii=False))
    environment = {"python": platform.python_version(), "dependencies": ["-r requirements.txt"]}
    write_text(out / "python_env.yaml", yaml.safe_dump(environment))
    write_text(out / "requirements.txt", f"langladder=={version('langladder')}\nmlflow=={version('mlflow')}\n")
    write_json(out / POINTER, _pointer(folder))


def write_copy(folder: Path, out: Path) -> None:
    """Write the model itself, where the description says that it lies; of a best-of-n also the one that chooses.

    Raises:
        InputError: the model that chooses is not here.
    """
    shutil.copytree(folder, out / _pointer(folder)["model"])
    own = provenance(folder).settings.get("align") or {}
    if own.get("method") == METHOD:
        judge = Path(str(own["reads"]))
        kind_of(folder.absolute().parents[2] / judge)
        shutil.copytree(folder.absolute().parents[2] / judge, out / judge)


def _pointer(folder: Path) -> dict[str, Any]:
    """The last three names of a model's path are those of the DAG: models/lm/gpt."""
    file = folder / "provenance.json"
    fingerprint = read_json(file)["fingerprint"] if file.is_file() else ""
    place = (ROOT / folder).resolve()
    return {"model": "/".join(["models", *place.parts[-2:]]), "place": str(place), "fingerprint": fingerprint}
