"""The lessons of lessons/, executed: each cell with its output, as a page of the site.

A lesson is a Python file in jupytext's percent format: a script that asserts its figures, and a notebook. It is
executed in a process of its own (nbclient), in an empty folder, once for each state of the lesson and the library: the
executed notebook is kept in outputs/lessons/.executed/. Two lessons are executed at a time, on one core each. A lesson
that fails or takes too long does not stop the others: its page shows the cells that ran, and the problem. The last cell
of a lesson, with the metadata `handout`, is a page of its own: one sheet for the teacher.

    python -m pipeline.site.lessons    # the lessons as notebooks → outputs/lessons/ (`make lessons`)
"""

import hashlib
import html
import logging
import math
import os
import re
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from langladder.ground.artefacts import write_text
from langladder.ground.atomic import not_in_sums, write_sums
from pipeline import ROOT
from pipeline.site.links import fenced

LESSONS = ROOT / "lessons"
NOTEBOOKS = ROOT / "outputs" / "lessons"
KEPT = NOTEBOOKS / ".executed"
LIMIT = 600  # seconds a lesson; on one free core the longest takes a minute
AT_A_TIME = 2
DIGITS = 16  # of the hash in the name of an executed notebook
DRAWN = "%config InlineBackend.figure_formats = ['svg']"


class Outcome(NamedTuple):
    """An executed lesson.

    Attributes:
        notebook: its cells, with the output of those that ran.
        problem: why it did not finish, in one line; empty: it did.
        raised: whether a cell raised an error, or its process died.
    """

    notebook: dict[str, Any]
    problem: str = ""
    raised: bool = False


@cache
def names() -> list[str]:
    """The lessons in their order, which their titles number."""
    files = sorted(LESSONS.glob("*.py"), key=lambda file: title(file.stem))
    return [file.stem for file in files]


def title(name: str) -> str:
    """The first heading of a lesson."""
    match = re.search(r"(?m)^# # (.*)$", (LESSONS / f"{name}.py").read_text(encoding="utf-8"))
    return match[1] if match else name


def execute_all() -> dict[str, str]:
    """Execute the lessons that changed, and print progress.

    Returns:
        Lesson → its problem, of those in which an error was raised.
    """
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        outcomes = dict(zip(names(), pool.map(executed, names()), strict=True))
    return {name: outcome.problem for name, outcome in outcomes.items() if outcome.raised}


def pages() -> dict[str, str]:
    """Page → Markdown, with the handouts; the list of the lessons first."""
    rows = [f"- [{title(name)}]({name}.md) ([handout]({name}-handout.md))" for name in names()]
    head = [
        "# Lessons",
        "",
        "Each lesson is a class of 45 minutes. It is executed when the site is built, and asserts the figures in its",
        "text. The answers to the exercises are folded. The handout is one page for the teacher. The lessons are files",
        "of `lessons/`: Python scripts, which `make lessons` turns into notebooks.",
        "",
    ]
    return (
        {"lessons/index.md": "\n".join([*head, *rows, ""])}
        | {f"lessons/{name}.md": as_markdown(name, executed(name)) for name in names()}
        | {f"lessons/{name}-handout.md": handout(name) for name in names()}
    )


def pictures() -> dict[str, str]:
    """The drawings of the lessons: path → SVG; and their notebooks for download."""
    results = {}
    for name in names():
        for number, cell in enumerate(executed(name).notebook["cells"]):
            for picture in (output["data"]["image/svg+xml"] for output in _drawn(cell)):
                results[f"lessons/{name}-{number}.svg"] = picture
        results[f"lessons/{name}.ipynb"] = as_notebook(name)
    return results


def as_notebook(name: str) -> str:
    """A lesson as a notebook that has not been run."""
    import jupytext  # type: ignore[import-untyped]

    notebook: str = jupytext.writes(jupytext.read(LESSONS / f"{name}.py", fmt="py:percent"), fmt="ipynb")
    return notebook


def write_notebooks(folder: Path) -> list[str]:
    """Write every lesson as a notebook into a folder; one that was edited since it was written stays.

    Returns:
        The files that stay.
    """
    files = {folder / f"{name}.ipynb": name for name in names()}
    edited = {folder / other for other in not_in_sums(folder)}
    for file in files.keys() - edited:
        write_text(file, as_notebook(files[file]))
    write_sums(folder, files.keys() - edited)
    return sorted(file.name for file in files.keys() & edited)


def handout(name: str) -> str:
    """The sheet for the teacher, from the last cell of the lesson."""
    text = (LESSONS / f"{name}.py").read_text(encoding="utf-8").partition('# %% [markdown] handout="true"\n')[2]
    lines = [re.sub("^# ?", "", line) for line in text.splitlines()]
    return f"# {title(name)}\n\n" + "\n".join(lines) + f"\n\n[The lesson]({name}.md)\n"


@cache
def executed(name: str) -> Outcome:
    """A lesson's notebook with the output of its cells, from the cache or executed now."""
    import jupytext

    where = f"{title(name)}:"
    file = KEPT / f"{name}-{_state(name)}.ipynb"
    if file.is_file():
        print(where, "unchanged, not executed again", flush=True)
        return Outcome(jupytext.read(file))
    print(where, "executing …", flush=True)
    begin = time.monotonic()
    outcome = _execute(name)
    print(where, outcome.problem or f"done in {time.monotonic() - begin:.0f} s", flush=True)
    if not outcome.problem:
        for older in KEPT.glob(f"{name}-{'[0-9a-f]' * DIGITS}.ipynb"):
            older.unlink()
        write_text(file, jupytext.writes(outcome.notebook, fmt="ipynb"))
    return outcome


def _execute(name: str) -> Outcome:
    import jupytext
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError

    notebook = jupytext.read(LESSONS / f"{name}.py", fmt="py:percent")
    first = next(cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    source = first["source"]
    first["source"] = f"{DRAWN}\n{source}"
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1", "MPLBACKEND": "", "OMP_NUM_THREADS": "1"}
    late = f"stopped after {LIMIT} s, the time limit of a lesson (LIMIT in pipeline/site/lessons.py)"
    end, problem, raised = time.monotonic() + LIMIT, "", False
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook,
            timeout_func=lambda _cell: max(1, math.ceil(end - time.monotonic())),
            startup_timeout=LIMIT,
            kernel_name="python3",
            resources={"metadata": {"path": folder}},
            log=logging.getLogger("lessons"),
        )
        client.log.setLevel(logging.CRITICAL)  # the problem is reported once, below
        kernel = client.create_kernel_manager()
        kernel.transport, kernel.ip = "ipc", f"{folder}/kernel"  # sockets in the folder: no port is opened
        try:
            # a process that is stopped at work prints errors; a cell's own stderr is in the notebook
            client.execute(env=environment, stderr=subprocess.DEVNULL)
        except CellTimeoutError:
            problem = late
        except CellExecutionError as error:
            problem, raised = f"{error.ename}: {error.evalue}".partition("\n")[0], True
        except RuntimeError as error:  # the process died, or did not start
            problem, raised = str(error).partition("\n")[0], True
            if time.monotonic() >= end:
                problem, raised = late, False
    first["source"] = source
    return Outcome(notebook, problem, raised)


def _state(name: str) -> str:
    """Hash of a lesson and of all files that it may import."""
    read = (path for folder in ("src", "pipeline", "conf") for path in (ROOT / folder).rglob("*"))
    code = sorted(path for path in read if path.suffix in (".py", ".tsv", ".yaml") and path.parent.name != "site")
    files = [LESSONS / f"{name}.py", ROOT / "dvc.yaml", ROOT / "params.yaml", *code]
    state = hashlib.sha256()
    for file in files:
        state.update(file.read_bytes())
    return state.hexdigest()[:DIGITS]


def as_markdown(name: str, outcome: Outcome) -> str:
    """An executed lesson as a page."""
    parts = []
    for number, cell in enumerate(outcome.notebook["cells"]):
        if "handout" in cell["metadata"]:
            continue
        if cell["cell_type"] == "markdown":
            parts.append(cell["source"].replace("<details>", '<details markdown="1">'))
            continue
        parts.append(fenced(cell["source"], "python"))
        if text := "".join(_printed(output) for output in cell["outputs"]):
            parts.append(f'<div class="lesson-output" markdown="1">\n\n{fenced(text, "text")}\n</div>')
        if any(True for _ in _drawn(cell)):
            parts.append(f"![{cell['metadata'].get('alt', 'what the cell draws')}]({name}-{number}.svg)")
    if outcome.problem:
        parts.insert(1, f'!!! failure "This lesson did not finish"\n\n    {html.escape(outcome.problem)}')
    parts.append(
        f"This page is `lessons/{name}.py`, executed. Download [the notebook]({name}.ipynb). "
        f"For teachers: [the handout]({name}-handout.md).\n"
    )
    return "\n\n".join(parts)


def _printed(output: dict[str, Any]) -> str:
    """The output of a cell, without progress bars."""
    if output["output_type"] == "stream":
        return str(output["text"]) if output["name"] == "stdout" else ""
    if output["output_type"] == "error":
        return f"{output['ename']}: {output['evalue']}\n"
    data = output.get("data", {})
    return "" if "image/svg+xml" in data else f"{data.get('text/plain', '')}\n"


def _drawn(cell: dict[str, Any]) -> list[dict[str, Any]]:
    return [output for output in cell.get("outputs", []) if "image/svg+xml" in output.get("data", {})]


def main() -> None:
    """Write the notebooks."""
    stay = write_notebooks(NOTEBOOKS)
    for name in names():
        what = "stays: you have edited it; to have it anew, rename or delete it" * (f"{name}.ipynb" in stay)
        print(f"{NOTEBOOKS.relative_to(ROOT) / name}.ipynb", what)


if __name__ == "__main__":
    main()
