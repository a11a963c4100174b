"""Train another ladder than that of params.yaml: `make repro LADDER=…`, in ladders/<name>/.

    python -m pipeline.ladder full     # every rung of conf/; claims, which have networks of their own, are `claims`
    python -m pipeline.ladder history  # the rungs listed in conf/ladder/history.yaml; likewise every other file there
    python -m pipeline.ladder english  # a file can also set other keys: here corpora of real English
    python -m pipeline.ladder history english  # one after the other (LADDER="history english")

By default one job per processor runs at a time, at most 8; set JOBS=… for another number. Rungs that the default ladder
has trained come from DVC's cache. The report is ladders/<name>/reports/index.html.

DVC reads the jobs from the lists in params.yaml, which belong to the user. So such a ladder has its own params.yaml and
dvc.lock, and does not change those of the checkout. Everything else belongs to the checkout: code, conf/, dvc.yaml and
input files are links, so an edit applies at once and runs what depends on it. DVC's cache is shared, so each ladder
reuses the rungs of the other; MLflow's runs and checkpoints are shared as well (`fingerprint.home`).
"""

import os
import subprocess
import sys
from pathlib import Path, PurePosixPath

import yaml
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from langladder.families import families
from langladder.families.sides import ON_REQUEST
from langladder.ground.artefacts import write_text
from langladder.ground.errors import InputError
from langladder.ground.remote import is_url
from pipeline import INSTALLED, ROOT
from pipeline.settings import params, titles
from pipeline.settings.errors import disk, explain, keys
from pipeline.settings.plan import jobs
from pipeline.settings.yaml_files import Values, display_path, read_yaml

LADDERS = Path("ladders")  # ignored by git and by the checkout's DVC
FULL = "full"
GROUP = "ladder"
"""The folder of conf/ with one file per ladder: its changes to params.yaml. If it lists rungs, it has only these."""
DATA = "LANGLADDER_DATA"
"""The environment variable that a ladder's paths can begin with: the folder of the public sets (docs/data.md)."""
LINKED = ("conf", "dvc.yaml", ".dvcignore", *(("requirements.txt",) if INSTALLED else ("src", "pipeline")))
GENERATED = ("data", "models")  # if paths.* names something that the ladder itself makes
WITH_TREES = "microworld_reviews"
"""Labelled texts for the classifiers that read trees, instead of microworld's stories."""
HEADER = "# Written by `make repro LADDER={}` from the params.yaml of the checkout. Edit that one{}.\n"


def main() -> None:
    names = list(dict.fromkeys(sys.argv[1:])) or [FULL]
    try:
        chosen = params.load()
        ladders = {name: ladder(chosen, name) for name in names}
        with disk():
            folders = {name: make(chosen, name) for name in names}
    except InputError as error:
        print(f"ladder: {error}", file=sys.stderr)
        sys.exit(2)
    for name, listed in ladders.items():
        _run(name, listed, folders[name])


def _run(name: str, listed: params.Choices, folder: Path) -> None:
    """Run a ladder and print its summary; end with its exit code if it fails."""
    rungs = sum(len(listed.rungs(family)) for family in families())
    print(f"ladder: {rungs} rungs and claims, {1 + len(jobs(listed))} jobs → {LADDERS / name}/reports/index.html")
    print("ladder: the number of outdated jobs follows", flush=True)
    own = {} if INSTALLED else {"PYTHONPATH": os.pathsep.join([str(folder / "src"), str(folder)])}
    python = [sys.executable, "-m"]
    for command in ([*python, "pipeline.parallel"], [*python, "pipeline.summary"]):
        if code := subprocess.run(command, cwd=folder, env=os.environ | own, check=False).returncode:
            sys.exit(code)


def ladder(chosen: params.Choices, name: str) -> params.Choices:
    """The choices with the rungs of a ladder, and with the other keys that its file has.

    Raises:
        InputError: there is no such ladder, its file has invalid settings, or data that it reads are missing.
    """
    if name == FULL:
        alone = [family.listed for family in families().values() if not (family.trained or family.looks_into)]
        return every_rung(chosen).model_copy(update={claims: [] for claims in alone})
    if name not in (names := params.conf_names(GROUP)):
        raise InputError(f"no ladder {name[:80]!r}; ladders: {', '.join([FULL, *names])}; see conf/{GROUP}/")
    file = params.conf_file(GROUP, name)
    listed = read_yaml(file) or {}
    usual = chosen.model_dump()
    if isinstance(paths := listed.get("paths"), dict):
        listed["paths"] = usual["paths"] | _public_sets(paths, str(display_path(file)))
    if any(family.listed in listed for family in families().values() if family.trained):
        usual |= {family.listed: {} if family.bases else [] for family in families().values()} | {"corpora": []}
    with explain(file_of=lambda _: f"{display_path(file)}", known=lambda: keys(params.schema())):
        return params.schema().model_validate(usual | listed)


def _public_sets(paths: Values, file: str) -> Values:
    """Paths of a ladder with `${oc.env:LANGLADDER_DATA,input}` replaced by the folder.

    Raises:
        InputError: another reference, or data sets that do not exist.
    """
    try:
        resolved: Values = OmegaConf.to_container(OmegaConf.create(paths), resolve=True)  # type: ignore[assignment]
    except OmegaConfBaseException as error:
        message = str(error).splitlines()[0]
        raise InputError(f"{file}: paths: {message}; write the path itself, or ${{oc.env:{DATA},input}}/…") from error
    sets = [path for key, path in resolved.items() if path != paths[key]]
    if absent := [path for path in sets if not is_url(path) and not (ROOT / path).exists()]:
        value = os.environ.get(DATA)
        now = "is not set, so input/ is read" if value is None else f"is {value!r}"
        raise InputError(
            f"{file}: missing: {', '.join(absent)}; {DATA} {now}: set it to the folder of the public sets "
            "(`make data` downloads some of them; docs/data.md lists the sources of the others)"
        )
    return resolved


def every_rung(chosen: params.Choices) -> params.Choices:
    """The choices with every rung of conf/ listed, in historical order."""
    described = titles.in_order({family: params.conf_names(family) for family in families()})
    listed: dict[str, object] = {"prompted": "tune", "corpora": list(ON_REQUEST)}
    if chosen.model_dump()["labels"] == "microworld":
        listed["labels"] = WITH_TREES
    for name, family in families().items():
        bases = {rung: titles.default_base(name, rung) for rung in described[name]} if family.bases else None
        listed[family.listed] = list(described[name]) if bases is None else bases
    return chosen.model_copy(update=listed)


def make(chosen: params.Choices, name: str = FULL) -> Path:
    """Make ladders/<name>/, or update it; nothing in it is removed.

    Raises:
        InputError: there is no such ladder; the path of a link is taken by something else.
    """
    values = ladder(chosen, name).model_dump()
    folder = ROOT / LADDERS / name
    (folder / ".dvc").mkdir(parents=True, exist_ok=True)
    links = {*LINKED}
    for outside in (values["paths"], values["given"]):
        for name, path in outside.items():
            if is_url(path):
                continue
            first = PurePosixPath(path).parts[0]
            if first == "..":  # another path from ladders/<name>/; only this ladder's first stage runs again
                outside[name] = str((ROOT / path).resolve())
            elif not Path(path).is_absolute() and first not in GENERATED:
                links.add(first)
    for link in sorted(links):
        _link(folder / link, ROOT / link)
    header = HEADER.format(name, "" if name == FULL else f" or conf/{GROUP}/{name}.yaml")
    _write(folder / "params.yaml", header + yaml.safe_dump(values, sort_keys=False, allow_unicode=True))
    _write(folder / ".dvc" / "config", _dvc_config())
    return folder


def _link(link: Path, target: Path) -> None:
    relative = Path("..", "..", target.name)
    if link.is_symlink() and link.readlink() == relative:
        return
    if link.is_symlink() or link.exists():
        path = link.relative_to(ROOT)
        raise InputError(f"{path}: must be a link to {relative}; move the file away and try again")
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
