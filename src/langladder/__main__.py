"""`python -m langladder`: the same as the command `langladder`."""

from langladder.cli.main import app

app(prog_name="langladder")
