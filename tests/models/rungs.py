"""The rungs of a family in conf/ at size tiny: their classes, read without Hydra; their settings, composed once."""

from functools import cache
from typing import Any

import yaml
from hydra import initialize_config_dir

from langladder.ground.schema import locate
from pipeline.settings import params, schema
from pipeline.settings.compose import Compositions, conf_folder


def classes(family: str) -> dict[str, type[Any]]:
    """Rung → its class. Tests are collected by them: nothing is composed for that."""
    files = {name: params.conf_file(family, name) for name in params.conf_names(family)}
    return {name: locate(yaml.safe_load(file.read_text(encoding="utf-8"))["_target_"]) for name, file in files.items()}


@cache
def models(family: str) -> dict[str, Any]:
    """Rung → the settings of its model, composed and checked as the pipeline does."""
    names = params.conf_names(family)
    tiny = params.load().model_copy(update={"size": "tiny"}).with_rungs({family: names})
    result: dict[str, Any] = {}
    with initialize_config_dir(conf_folder(), version_base="1.3"):
        compositions = Compositions.prepared(tiny)
        for name in names:
            file = str(params.conf_file(family, name))
            rung: Any = schema.checked_rung(family, compositions.rung(family, name), lambda _, file=file: file)
            result[name] = rung.model
    return result
