"""The full ladder: every rung that conf/ has, in ladders/full/ (`make repro LADDER=full`); params.yaml stays as it is.

    python -m pipeline.ladder          # as many jobs as processors, at most 8; JOBS=… for another number

Rungs that the default ladder has made are taken from DVC's cache. Its report is ladders/full/reports/index.html.

DVC reads which jobs there are from the lists in params.yaml, which are the user's: so the full ladder has a params.yaml
and a dvc.lock of its own, and leaves those of the checkout as they are. All else is the checkout's: code, conf/,
dvc.yaml and files from outside are links, so an edit is seen at once and runs what it touches; DVC's cache is shared,
so that a rung made by either ladder is taken from there by the other; MLflow's runs and checkpoints as well
(`fingerprint.home`).
"""

import os
import subprocess
import sys
from pathlib import Path, PurePosixPath

import yaml

from langladder.families import families
from langladder.families.sides import ON_REQUEST
from langladder.ground.artefacts import write_text
from langladder.ground.errors import InputError
from langladder.ground.remote import is_url
from pipeline import ROOT
from pipeline.settings import params, titles
from pipeline.settings.plan import jobs

FOLDER = Path("ladders/full")  # ignored by git and by the checkout's DVC
LINKED = ("src", "pipeline", "conf", "dvc.yaml", ".dvcignore")
GENERATED = ("data", "models")  # where paths.* name what the ladder makes itself
WITH_TREES = "microworld_sentences"
"""Instead of microworld's documents: labelled texts for the classifiers that read trees."""
HEADER = "# Written by `make repro LADDER=full` from the params.yaml of the checkout. Edit that one.\n"


def main() -> None:
    try:
        chosen = params.load()
        folder = make(chosen)
    except InputError as error:
        print(f"ladder: {error}", file=sys.stderr)
        sys.exit(2)
    every = every_rung(chosen)
    rungs = sum(len(every.rungs(family)) for family in families())
    print(f"ladder: {rungs} rungs and claims, {1 + len(jobs(every))} jobs → {FOLDER}/reports/index.html")
    print("ladder: how many of them are to be made follows", flush=True)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder / "src"), str(folder)])}
    python = [sys.executable, "-m"]
    for command in ([*python, "pipeline.parallel"], [*python, "pipeline.summary"]):
        if code := subprocess.run(command, cwd=folder, env=environment, check=False).returncode:
            sys.exit(code)


def every_rung(chosen: params.Choices) -> params.Choices:
    """The choices with every rung of conf/ listed, in order of history."""
    described = titles.in_order({family: params.conf_names(family) for family in families()})
    listed: dict[str, object] = {"prompted": "tune", "corpora": list(ON_REQUEST)}
    if chosen.labels == "microworld":
        listed["labels"] = WITH_TREES
    for name, family in families().items():
        bases = {rung: titles.own_growth(name, rung) for rung in described[name]} if family.bases else None
        listed[family.listed] = list(described[name]) if bases is None else bases
    return chosen.model_copy(update=listed)


def make(chosen: params.Choices) -> Path:
    """Make ladders/full/, or bring it up to date; nothing that stands there already is removed.

    Raises:
        InputError: something that is no link stands in a link's place.
    """
    folder = ROOT / FOLDER
    (folder / ".dvc").mkdir(parents=True, exist_ok=True)
    values = every_rung(chosen).model_dump()
    links = {*LINKED}
    for outside in (values["paths"], values["given"]):
        for name, path in outside.items():
            if is_url(path):
                continue
            first = PurePosixPath(path).parts[0]
            if first == "..":  # another place from ladders/full/: only this one's first stage runs again
                outside[name] = str((ROOT / path).resolve())
            elif not Path(path).is_absolute() and first not in GENERATED:
                links.add(first)
    for link in sorted(links):
        _link(folder / link, ROOT / link)
    _write(folder / "params.yaml", HEADER + yaml.safe_dump(values, sort_keys=False, allow_unicode=True))
    _write(folder / ".dvc" / "config", _dvc_config())
    return folder


def _link(link: Path, target: Path) -> None:
    relative = Path(*[".."] * len(FOLDER.parts), target.name)
    if link.is_symlink() and link.readlink() == relative:
        return
    if link.is_symlink() or link.exists():
        path = link.relative_to(ROOT)
        raise InputError(f"{path}: is not the link to {relative} that stands there; move it away and try again")
    link.symlink_to(relative)


def _dvc_config() -> str:
    from dvc.repo import Repo

    with Repo(str(ROOT)) as repo:
        cache = repo.cache.local_cache_dir
    settings = "[core]\n    analytics = false\n    autostage = false\n    no_scm = true\n"
    return f"{settings}[cache]\n    dir = {cache}\n"


def _write(path: Path, text: str) -> None:
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        write_text(path, text)


if __name__ == "__main__":
    main()
