"""`langladder serve`: models behind OpenAI's API, for clients that know it."""

from pathlib import Path

import click


@click.command()
@click.argument("models", nargs=-1, required=True, metavar="MODEL...", type=click.Path(path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at; 0.0.0.0: everybody's.")
@click.option("--port", type=click.IntRange(0, 65_535), default=8000, show_default=True, help="0: one that is free.")
@click.option("--memory", default="2GB", show_default=True, help="Of models that are kept loaded.")
def serve(models: tuple[Path, ...], host: str, port: int, memory: str) -> None:
    """Answer OpenAI's completions, chats and embeddings with each MODEL.

    A language model completes and scores; one that follows instructions also chats; word vectors (and a language
    model's input embedding) embed.

    \b
    Examples:
      langladder serve models/lm/gpt models/embedding/skipgram
      langladder serve models/lm/* --port 8080
    """
    from langladder.engine.settings import bytes_of
    from langladder.faces.http import api
    from langladder.faces.http.guard import LOOPBACK
    from langladder.faces.http.server import run
    from langladder.faces.http.shelf import Shelf

    try:
        granted = bytes_of(memory)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--memory") from error
    shelf = Shelf.of(models, granted)
    hosts = LOOPBACK if host in ("127.0.0.1", "::1", "localhost") else ("*",)
    run(api.create(shelf, hosts), host, port, f"serving {', '.join(shelf.folders)}")
