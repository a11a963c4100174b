"""The lessons of lessons/, executed: each cell with what it gave, as a page of the site.

A lesson is a Python file in jupytext's percent format: a script that asserts what it says, a notebook for whoever reads
it. It is executed in a process of its own (nbclient), in an empty folder, once for each state of the lesson and the
library: the executed notebook is kept in outputs/lessons/.
"""

import hashlib
import os
import re
import tempfile
from functools import cache
from typing import Any

from langladder.ground.artefacts import write_text
from pipeline import ROOT
from pipeline.site.links import fenced

LESSONS = ROOT / "lessons"
KEPT = ROOT / "outputs" / "lessons"
TIMEOUT = 600  # seconds a cell
DRAWN = "%config InlineBackend.figure_formats = ['svg']"


@cache
def names() -> list[str]:
    """The lessons in their order, which their titles number."""
    files = sorted(LESSONS.glob("*.py"), key=lambda file: title(file.stem))
    return [file.stem for file in files]


def title(name: str) -> str:
    """The first heading of a lesson."""
    found = re.search(r"(?m)^# # (.*)$", (LESSONS / f"{name}.py").read_text(encoding="utf-8"))
    return found[1] if found else name


def pages() -> dict[str, str]:
    """Page → Markdown, the way into the lessons first."""
    rows = [f"- [{title(name)}]({name}.md)" for name in names()]
    head = [
        "# Lessons",
        "",
        "Each is executed while the site is built, and asserts what it says. Exercises have their answers under them.",
        "They are files of `lessons/`: scripts, and notebooks for whoever opens them as such (`make lessons`).",
        "",
    ]
    return {"lessons/index.md": "\n".join([*head, *rows, ""])} | {
        f"lessons/{name}.md": as_markdown(name, executed(name)) for name in names()
    }


def pictures() -> dict[str, str]:
    """What the lessons drew: path → SVG; and their notebooks to take away."""
    found = {}
    for name in names():
        for number, cell in enumerate(executed(name)["cells"]):
            for picture in (output["data"]["image/svg+xml"] for output in _drawn(cell)):
                found[f"lessons/{name}-{number}.svg"] = picture
        found[f"lessons/{name}.ipynb"] = as_notebook(name)
    return found


def as_notebook(name: str) -> str:
    """A lesson as a notebook that nobody has run yet."""
    import jupytext  # type: ignore[import-untyped]

    notebook: str = jupytext.writes(jupytext.read(LESSONS / f"{name}.py", fmt="py:percent"), fmt="ipynb")
    return notebook


@cache
def executed(name: str) -> dict[str, Any]:
    """A lesson's notebook with what its cells gave.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell fails, or what it asserts is not so.
    """
    import jupytext

    file = KEPT / f"{name}-{_state(name)}.ipynb"
    if not file.is_file():
        text = jupytext.writes(_execute(name), fmt="ipynb")
        for older in KEPT.glob(f"{name}-*.ipynb"):
            older.unlink()
        write_text(file, text)
    notebook: dict[str, Any] = jupytext.read(file)
    return notebook


def _execute(name: str) -> Any:
    import jupytext
    from nbclient import NotebookClient

    notebook = jupytext.read(LESSONS / f"{name}.py", fmt="py:percent")
    first = next(cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    source = first["source"]
    first["source"] = f"{DRAWN}\n{source}"
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1", "MPLBACKEND": ""}
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook,
            timeout=TIMEOUT,
            startup_timeout=TIMEOUT,
            kernel_name="python3",
            resources={"metadata": {"path": folder}},
        )
        kernel = client.create_kernel_manager()
        kernel.transport, kernel.ip = "ipc", f"{folder}/kernel"  # sockets in the folder: no port is opened
        client.execute(env=environment)
    first["source"] = source
    return notebook


def _state(name: str) -> str:
    """Hash of a lesson and of all that it may import."""
    read = (path for folder in ("src", "pipeline", "conf") for path in (ROOT / folder).rglob("*"))
    code = sorted(path for path in read if path.suffix in (".py", ".tsv", ".yaml") and path.parent.name != "site")
    files = [LESSONS / f"{name}.py", ROOT / "dvc.yaml", ROOT / "params.yaml", *code]
    state = hashlib.sha256()
    for file in files:
        state.update(file.read_bytes())
    return state.hexdigest()[:16]


def as_markdown(name: str, notebook: dict[str, Any]) -> str:
    """An executed notebook as a page."""
    parts = []
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "markdown":
            parts.append(cell["source"].replace("<details>", '<details markdown="1">'))
            continue
        parts.append(fenced(cell["source"], "python"))
        if text := "".join(_printed(output) for output in cell["outputs"]):
            parts.append(f'<div class="lesson-output" markdown="1">\n\n{fenced(text, "text")}\n</div>')
        if any(True for _ in _drawn(cell)):
            parts.append(f"![{cell['metadata'].get('alt', 'what the cell draws')}]({name}-{number}.svg)")
    parts.append(f"This page is `lessons/{name}.py`, executed. To take away: [the notebook]({name}.ipynb).\n")
    return "\n\n".join(parts)


def _printed(output: dict[str, Any]) -> str:
    """What a cell wrote, progress bars left out."""
    if output["output_type"] == "stream":
        return str(output["text"]) if output["name"] == "stdout" else ""
    data = output.get("data", {})
    return "" if "image/svg+xml" in data else f"{data.get('text/plain', '')}\n"


def _drawn(cell: dict[str, Any]) -> list[dict[str, Any]]:
    return [output for output in cell.get("outputs", []) if "image/svg+xml" in output.get("data", {})]
