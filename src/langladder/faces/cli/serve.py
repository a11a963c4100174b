"""`langladder serve` and `langladder explore`: models with OpenAI's API, and models in the browser."""

import os
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import click

from langladder.faces.cli.options import FOLDER
from langladder.ground.errors import InputError, needs

HOST = click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on; 0.0.0.0: reachable from other machines.",
)
MEMORY = click.option("--memory", default="2GB", show_default=True, help="Memory for models that are kept loaded.")


@click.command(short_help="Serve models with OpenAI's API.")
@click.argument("models", nargs=-1, required=True, metavar="MODEL...", type=FOLDER)
@HOST
@click.option("--port", type=click.IntRange(0, 65_535), default=8000, show_default=True, help="0: any free port.")
@MEMORY
def serve(models: tuple[Path, ...], host: str, port: int, memory: str) -> None:
    """Serve each MODEL with OpenAI's API for completions, chat and embeddings.

    Language models serve completions and scores; those that follow instructions also serve chat. Word vectors, and the
    input embeddings of language models, serve embeddings.

    \b
    Examples:
      langladder serve models/lm/gpt models/embedding/skipgram
      langladder serve models/lm/* --port 8080
    """
    with needs("serve", "serve"):
        from langladder.faces.http import api
        from langladder.faces.http.guard import LOOPBACK
        from langladder.faces.http.server import HERE, run
        from langladder.faces.http.shelf import Shelf

    limit = _bytes_of(memory)
    shelf = Shelf.of(models, limit)
    hosts = LOOPBACK if host in HERE else ("*",)
    run(api.create(shelf, hosts), host, port, f"serving {', '.join(shelf.folders)}")


@click.command()
@click.argument("models", nargs=-1, metavar="[MODELS]...", type=FOLDER)
@HOST
@click.option("--port", type=click.IntRange(0, 65_535), default=8300, show_default=True, help="0: any free port.")
@MEMORY
@click.option("--mlflow", metavar="URL", default="", help="Address of MLflow's UI (make ui); rungs link to their runs.")
def explore(models: tuple[Path, ...], host: str, port: int, memory: str, mlflow: str) -> None:
    """Explore the models of a folder in the browser.

    MODELS are folders of one or more models; default: models/ of this folder. The folders data/ and reports/ beside
    models/ are shown too. The page is reachable from this machine only, unless you set --host. There is no password.

    \b
    Examples:
      langladder explore models/lm models/embedding/skipgram --port 8080
      langladder explore
    """
    limit = _bytes_of(memory)
    if mlflow and not mlflow.startswith(("http://", "https://")):
        raise click.BadParameter(f"{mlflow!r} is not an address such as http://127.0.0.1:5000", param_hint="--mlflow")
    if not models and not Path("models").is_dir():
        raise InputError(
            "models: no such folder here; give a folder with saved models, or run `dvc repro` to make some"
        )
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch: requests run side by side, each in its own thread
    with needs("explore", "explore"):
        from langladder.faces.explorer.app import create
        from langladder.faces.http.guard import LOOPBACK
        from langladder.faces.http.server import HERE, run
        from langladder.faces.http.shelf import Shelf
        from langladder.text.words.segmentation import languages_of

    shelf = Shelf.below(models or (Path("models"),), limit, _project_of(models))
    shelf.tracking = mlflow or _tracking_ui()
    if not shelf.folders:
        raise InputError(f"{', '.join(map(str, models)) or 'models'}: no saved model; run `dvc repro` to make some")
    hosts = LOOPBACK if host in HERE else ("*",)
    run(
        create(shelf, hosts, languages=languages_of(shelf.project / "data" / "clean")),
        host,
        port,
        f"exploring {len(shelf.folders)} models",
    )


def _tracking_ui() -> str:
    """The address of the tracking server in MLFLOW_TRACKING_URI, without its password; "" if it is not set to one.

    The page shows it to everybody who opens the page.
    """
    parts = urlsplit(os.environ.get("MLFLOW_TRACKING_URI", ""))
    if parts.scheme not in ("http", "https"):
        return ""
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _project_of(models: tuple[Path, ...]) -> Path:
    """The folder of data/ and reports/: the nearest folder above the models that has reports/, else this folder."""
    for folder in models:
        for above in list(folder.resolve().parents)[:3]:
            if (above / "reports").is_dir() and (above / "models").is_dir():
                return above
    return Path()


def _bytes_of(memory: str) -> int:
    from langladder.engine.settings import bytes_of

    try:
        return bytes_of(memory)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--memory") from error
