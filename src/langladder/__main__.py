"""`python -m langladder`: the same as the command `langladder`."""

from langladder.faces.cli.main import app

app(prog_name="langladder")
