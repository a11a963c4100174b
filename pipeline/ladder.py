"""Another ladder than that of params.yaml, which stays as it is: `make repro LADDER=…`, in ladders/<name>/.

    python -m pipeline.ladder full     # every rung that conf/ has
    python -m pipeline.ladder history  # those that conf/ladder/history.yaml lists, as any other file there does
    python -m pipeline.ladder english  # a file may choose other settings, too: here corpora of real English

As many jobs as processors run at a time, at most 8; JOBS=… for another number. Rungs that the default ladder has made
are taken from DVC's cache. Its report is ladders/<name>/reports/index.html.

DVC reads which jobs there are from the lists in params.yaml, which are the user's: so such a ladder has a params.yaml
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
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from langladder.families import families
from langladder.families.sides import ON_REQUEST
from langladder.ground.artefacts import write_text
from langladder.ground.errors import InputError
from langladder.ground.remote import is_url
from pipeline import INSTALLED, ROOT
from pipeline.settings import params, titles
from pipeline.settings.errors import explain
from pipeline.settings.plan import jobs
from pipeline.settings.yaml_files import Values, display_path, read_yaml

LADDERS = Path("ladders")  # ignored by git and by the checkout's DVC
FULL = "full"
GROUP = "ladder"
"""The folder of conf/ with a file a ladder: what differs from params.yaml. Where it lists rungs, it has no others."""
DATA = "LANGLADDER_DATA"
"""The environment variable that a ladder's paths may begin with: the folder of the public sets (docs/data.md)."""
LINKED = ("conf", "dvc.yaml", ".dvcignore", *(("requirements.txt",) if INSTALLED else ("src", "pipeline")))
GENERATED = ("data", "models")  # where paths.* name what the ladder makes itself
WITH_TREES = "microworld_sentences"
"""Instead of microworld's documents: labelled texts for the classifiers that read trees."""
HEADER = "# Written by `make repro LADDER={}` from the params.yaml of the checkout. Edit that one{}.\n"


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else FULL
    try:
        chosen = params.load()
        folder, listed = make(chosen, name), ladder(chosen, name)
    except InputError as error:
        print(f"ladder: {error}", file=sys.stderr)
        sys.exit(2)
    rungs = sum(len(listed.rungs(family)) for family in families())
    print(f"ladder: {rungs} rungs and claims, {1 + len(jobs(listed))} jobs → {LADDERS / name}/reports/index.html")
    print("ladder: how many of them are to be made follows", flush=True)
    own = {} if INSTALLED else {"PYTHONPATH": os.pathsep.join([str(folder / "src"), str(folder)])}
    python = [sys.executable, "-m"]
    for command in ([*python, "pipeline.parallel"], [*python, "pipeline.summary"]):
        if code := subprocess.run(command, cwd=folder, env=os.environ | own, check=False).returncode:
            sys.exit(code)


def ladder(chosen: params.Choices, name: str) -> params.Choices:
    """The choices with the rungs of a ladder, and with the other keys that its file has.

    Raises:
        InputError: there is no such ladder, its file says what params.yaml could not, or data that it reads are absent.
    """
    if name == FULL:
        return every_rung(chosen)
    if name not in (names := params.conf_names(GROUP)):
        raise InputError(f"{name[:80]!r} is no ladder: there are {', '.join([FULL, *names])}; see conf/{GROUP}/")
    file = params.conf_file(GROUP, name)
    listed = read_yaml(file) or {}
    usual = chosen.model_dump()
    if isinstance(paths := listed.get("paths"), dict):
        listed["paths"] = usual["paths"] | _public_sets(paths, str(display_path(file)))
    if any(family.listed in listed for family in families().values() if family.trained):
        usual |= {family.listed: {} if family.bases else [] for family in families().values()} | {"corpora": []}
    with explain(file_of=lambda _: f"{display_path(file)}", kind=params.schema()):
        return params.schema().model_validate(usual | listed)


def _public_sets(paths: Values, file: str) -> Values:
    """Paths of a ladder as params.yaml may have them: `${oc.env:LANGLADDER_DATA,input}` is that folder.

    Raises:
        InputError: another reference, or sets that are not there.
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
            f"{file}: not there: {', '.join(absent)}; {DATA} {now}: set it to the folder of the public sets "
            "(`make data` fetches some of them, docs/data.md says where the others come from)"
        )
    return resolved


def every_rung(chosen: params.Choices) -> params.Choices:
    """The choices with every rung of conf/ listed, in order of history."""
    described = titles.in_order({family: params.conf_names(family) for family in families()})
    listed: dict[str, object] = {"prompted": "tune", "corpora": list(ON_REQUEST)}
    if chosen.model_dump()["labels"] == "microworld":
        listed["labels"] = WITH_TREES
    for name, family in families().items():
        bases = {rung: titles.own_growth(name, rung) for rung in described[name]} if family.bases else None
        listed[family.listed] = list(described[name]) if bases is None else bases
    return chosen.model_copy(update=listed)


def make(chosen: params.Choices, name: str = FULL) -> Path:
    """Make ladders/<name>/, or bring it up to date; nothing that stands there already is removed.

    Raises:
        InputError: there is no such ladder; something that is no link stands in a link's place.
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
            if first == "..":  # another place from ladders/<name>/: only this one's first stage runs again
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
