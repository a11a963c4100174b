"""Set up a virtual environment from lock files and say what is being done: what `make setup` and its kin call.

    python scripts/install.py .venv requirements.lock [requirements-dev.lock] [--torch cpu|cuda]

Needs Python and the pip that it brings. The lock names every package but those that torch's build brings along (one for
NVIDIA GPUs depends on gigabytes of libraries, one for the CPU on none), so: every pin as it stands, several pips at a
time, then torch once more with dependencies, which finds nothing missing or fetches just those libraries.

A new environment on Linux gets torch for NVIDIA GPUs if there is one here, otherwise torch for the CPU, if pip can find
it; `--torch` decides, and an environment keeps the build that it has.

Pip takes only files whose SHA-256 the lock has. The lock's hashes of torch are those of the package index, so they hold
for its build for NVIDIA GPUs and for macOS; a build from elsewhere (for the CPU, or the one that pip is configured to
find) and what a build brings along are taken by exact version. Packages that exist as source alone are built with the
lock's own setuptools, which is installed first.
"""

from __future__ import annotations  # so that an old Python reads this far, and is told

import argparse
import contextlib
import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST = (3, 11)
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
PIPELINE = r"extra == ['\"]pipeline['\"]"  # what requirements.lock holds beyond the library
PIPS = 4  # at a time: each waits for the index more than it computes
BUILDERS = {"cmake", "packaging", "setuptools", "setuptools-scm", "vcs-versioning"}  # of packages that come as source
NOISE = re.compile(  # a local index that lacks a package: pip looks on
    r"WARNING: Location '.*' is ignored: it is neither a file nor a directory\.|WARNING: Url '.*' is ignored"
)
ROUTINE = re.compile(
    r"\s*(Collecting|Downloading|Using cached|Obtaining|Preparing metadata|Requirement already|Looking in|Building|"
    r"Created|Stored|Getting requirements|Installing (build|collected|backend)|Successfully|Processing|Checking if)"
)


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def requirement_name(line: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", line)
    return canonical(found.group()) if found else ""


def read_pins(lock: Path) -> dict[str, str]:
    """Package → its pin in the lock, hashes behind it: `name==version ; marker --hash=… --hash=…`."""
    text = re.sub(r"\s*\\\n\s*", " ", lock.read_text(encoding="utf-8"))
    lines = (line.split("#")[0].strip() for line in text.splitlines())
    return {requirement_name(line): line for line in lines if line}


def pinned_version(pin: str) -> str:
    found = re.search(r"==\s*([^\s;]+)", pin)
    return found.group(1) if found else ""


def without_hashes(pin: str) -> str:
    return pin.split("--hash")[0].strip()


class Environment:
    """A virtual environment as it stands on disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = folder / "bin" / "python"

    @property
    def packages(self) -> Path:
        return next(self.folder.glob("lib/python*/site-packages"))

    def installed(self) -> dict[str, str]:
        return {
            canonical(found.metadata["Name"]): found.version
            for found in importlib.metadata.distributions(path=[str(self.packages)])
            if found.metadata["Name"]
        }

    def torch_build(self) -> str:
        """`cpu`, `cuda` (any GPU), or nothing where torch is absent."""
        facts = self.packages / "torch" / "version.py"
        if "torch" not in self.installed() or not facts.is_file():
            return ""
        values = dict(re.findall(r"^(cuda|hip|xpu)\b[^=\n]*=\s*(\S+)", facts.read_text(encoding="utf-8"), re.MULTILINE))
        return "cpu" if set(values.values()) <= {"None"} else "cuda"

    def brought_by_torch(self, locked: set[str]) -> list[str]:
        """What is here for this build of torch alone: its dependencies that no lock names."""
        here = self.installed()
        wanted: set[str] = set()
        todo = ["torch"]
        while todo:
            for line in importlib.metadata.Distribution.discover(name=todo.pop(), path=[str(self.packages)]):
                names = {requirement_name(required) for required in line.requires or []}
                new = (names & set(here)) - locked - wanted
                wanted |= new
                todo += new
        return sorted(wanted)


class Job:
    """One pip at work; its lines are read as they come."""

    def __init__(self, command: list[str], temporary: Path) -> None:
        self.command, self.temporary = command, temporary
        self.lines: list[str] = []
        temporary.mkdir()
        quiet = {"TMPDIR": str(temporary), "PYTHONUNBUFFERED": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        path = f"{Path(command[0]).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"  # CMake, for KenLM
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **quiet, "PATH": path},
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip())

    def found(self) -> int:
        return sum(line.startswith(("Collecting ", "Processing ", "Requirement already")) for line in self.lines)

    def fetched(self) -> int:
        """Bytes of packages that pip has laid out so far."""
        total = 0
        for folder in self.temporary.iterdir():
            with contextlib.suppress(OSError):  # pip tidies up meanwhile
                if folder.name.startswith("pip-unpack-"):
                    total += sum(file.stat().st_size for file in folder.iterdir())
        return total

    def building(self) -> str:
        for line in reversed(self.lines):
            if started := re.match(r"\s*Building wheels? for (?!collected)(\S+) .*started", line):
                return started.group(1)
            if re.match(r"\s*Building wheels? for .*finished|Installing collected", line):
                break
        return ""

    def worth_saying(self) -> list[str]:
        return [line for line in self.lines if re.match(r"\s*(WARNING|ERROR|error)", line) and not NOISE.match(line)]


class Progress:
    """One line that is kept up to date in a terminal; elsewhere a line every few seconds."""

    def __init__(self) -> None:
        self.terminal = sys.stdout.isatty()
        self.began = time.monotonic()
        self.last = self.began - 3  # the first line after two seconds

    def show(self, text: str) -> None:
        now = time.monotonic()
        if now - self.last < (0.2 if self.terminal else 5):
            return
        self.last = now
        line = f"   {text} · {now - self.began:.0f} s"
        print(f"\r\033[K{line}" if self.terminal else line, end="" if self.terminal else "\n", flush=True)

    def done(self, text: str) -> None:
        wipe = "\r\033[K" if self.terminal else ""
        print(f"{wipe}   {text} · {time.monotonic() - self.began:.0f} s", flush=True)


def run_pips(environment: Environment, commands: list[list[str]], packages: int) -> None:
    """Run several `pip install` side by side; the first that fails ends them all."""
    progress = Progress()
    before = len(environment.installed())
    most = 0
    with tempfile.TemporaryDirectory(prefix="langladder-setup-") as scratch:
        jobs = [
            Job(
                [str(environment.python), "-m", "pip", "install", "--no-compile", "--progress-bar", "off", *command],
                Path(scratch) / str(i),
            )
            for i, command in enumerate(commands)
        ]
        try:
            while any(job.process.poll() is None for job in jobs):
                if any(job.process.poll() for job in jobs):
                    break
                most = max(most, sum(job.fetched() for job in jobs))
                progress.show(_state(environment, jobs, packages, before, most))
                time.sleep(0.3)
        finally:
            for job in jobs:
                if job.process.poll() is None:
                    job.process.terminate()
                job.process.wait()
                job.reader.join()
        failed = [job for job in jobs if job.process.returncode > 0] or [job for job in jobs if job.process.returncode]
        if failed:
            print("\n".join(line for line in failed[0].lines if not ROUTINE.match(line) and not NOISE.match(line)))
            sys.exit(f"setting up failed (pip's words above); it ran: {' '.join(failed[0].command)}")
        for line in dict.fromkeys(line for job in jobs for line in job.worth_saying()):
            print(f"   pip: {line}")
    more = len(environment.installed()) - before
    progress.done(f"{more} package{'s' * (more != 1)} installed" if more > 0 else "done")


def install_pins(environment: Environment, groups: list[list[str]]) -> None:
    """A pip for each group of pins: files of which the lock has no hash are refused, torch from elsewhere aside."""
    with tempfile.TemporaryDirectory() as folder:
        commands = []
        for i, group in enumerate(groups):
            file = Path(folder) / f"{i}.txt"
            file.write_text("\n".join(group) + "\n", encoding="utf-8")
            by_version = any(line.startswith("torch=") and "--hash" not in line for line in group)
            commands.append(["--no-deps", "--no-build-isolation", *["--require-hashes"][by_version:], "-r", str(file)])
        if commands:
            run_pips(environment, commands, sum(not line.startswith("-") for group in groups for line in group))


def _state(environment: Environment, jobs: list[Job], packages: int, before: int, fetched: int) -> str:
    here = len(list(environment.packages.glob("*.dist-info"))) - before
    building = ", ".join(name for job in jobs if (name := job.building()))
    found = sum(job.found() for job in jobs)
    parts = [f"{min(packages, found)} of {packages} packages found" if packages else f"{found} packages found"]
    parts += [f"{fetched / 1e6:,.0f} MB"] if fetched else []
    parts += [f"compiling {building}"] if building else []
    parts += [f"{here} installed"] if here > 0 else []
    return ", ".join(parts)


def has_nvidia_gpu() -> bool:
    """Whether an NVIDIA GPU and its driver are here, also in a container or under WSL."""
    if list(Path("/dev").glob("nvidia[0-9]*")):
        return True
    program = shutil.which("nvidia-smi", path=f"{os.environ.get('PATH', os.defpath)}{os.pathsep}/usr/lib/wsl/lib")
    if program is None:
        return False
    try:
        listed = subprocess.run([program, "-L"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return listed.returncode == 0 and listed.stdout.startswith("GPU ")


def choose_torch(pin: str, build: str, there: str) -> list[str]:
    """What pip is told for a build: exact versions, so that no other build can answer, whichever indexes it asks.

    Without a build, the one that is there, or else the one for this machine, is preferred. Lines of a requirements
    file, with the lock's hashes where the build is the package index' own.
    """
    version, hashes = pinned_version(pin), " ".join(re.findall(r"--hash=\S+", pin))
    if platform.system() == "Darwin":
        if build == "cuda":
            sys.exit("TORCH=cuda: there is no build of torch for NVIDIA GPUs on macOS; leave TORCH out")
        return [f"torch=={version} {hashes}"]
    if build == "cpu":
        return [f"--extra-index-url {CPU_INDEX}", f"torch=={version}+cpu"]
    if build == "cuda":
        return [f"torch==={version} {hashes}"]  # the index' own build, not one marked +cpu in a folder of wheels
    gpu = there == "cuda" if there else has_nvidia_gpu()
    if not there:
        what, other = ("an", "cpu") if gpu else ("no", "cuda")
        print(f"== {what} NVIDIA GPU here: torch for {'it' if gpu else 'the CPU'} (TORCH={other} for the other build)")
    # pip prefers the CPU's build where it finds one: 2.13.0+cpu is newer than 2.13.0
    return [*[f"--extra-index-url {CPU_INDEX}"][gpu:], f"torch=={version}"]


def install_torch_build(environment: Environment, pin: str, build: str, locked: set[str]) -> list[str]:
    """What pip is told; nothing where the wanted build is there. Another one goes first, with what it brought."""
    version = pinned_version(pin)
    there = environment.torch_build()
    words = choose_torch(pin, build, there)
    same_version = environment.installed().get("torch", "").split("+")[0] == version
    if (there and same_version and build in ("", there)) or (platform.system() == "Darwin" and same_version):
        return []
    if there:
        goes = ["torch", *environment.brought_by_torch(locked)]
        print(f"== removing torch {environment.installed()['torch']} and {len(goes) - 1} packages that it brought")
        subprocess.run([str(environment.python), "-m", "pip", "uninstall", "-q", "-y", *goes], check=True, cwd=ROOT)
    return words


def check_torch_build(environment: Environment, build: str) -> None:
    there = environment.torch_build()
    if platform.system() != "Darwin" and build and there != build:
        sys.exit(f"TORCH={build}, but pip found here a build of torch for {there or 'nothing'}: see `pip config list`")


def install_project(environment: Environment, locks: list[Path], quiet: bool) -> None:
    """The project as it lies here, and what torch's build still lacks, at the lock's versions where it has them."""
    build = environment.torch_build()
    print(f"== langladder itself, and what torch for {build} depends on", flush=True)
    if build == "cuda" and not quiet:
        print("   (NVIDIA's libraries are gigabytes; without such a GPU `make setup TORCH=cpu` is a tenth of the size)")
    torch = f"torch=={environment.installed()['torch']}"
    with tempfile.TemporaryDirectory() as folder:
        constraints = Path(folder) / "constraints.txt"  # no hashes: with them pip would want one of torch, too
        pins = [without_hashes(pin) for lock in locks for pin in read_pins(lock).values()]
        constraints.write_text("\n".join(pins) + "\n", encoding="utf-8")
        own = ["--no-deps", "--no-build-isolation", "-e", str(ROOT)]
        run_pips(environment, [own, ["-c", str(constraints), torch]], packages=0)
    metadata = next(iter(importlib.metadata.Distribution.discover(name="langladder", path=[str(environment.packages)])))
    wanted = [line for line in metadata.requires or [] if "extra ==" not in line or re.search(PIPELINE, line)]
    declared = {requirement_name(line) for line in wanted}
    if unlocked := sorted(declared - set(environment.installed())):
        sys.exit(f"pyproject.toml declares {', '.join(unlocked)}, which no lock file names: run `make lock`")


def create(environment: Environment) -> None:
    if not (environment.folder / "bin" / "pip").exists():
        print(f"== making {environment.folder.name} with Python {platform.python_version()}", flush=True)
        made = subprocess.run([sys.executable, "-m", "venv", str(environment.folder)], check=False)
        if made.returncode:
            sys.exit("python -m venv failed (its words above)")


def main() -> None:
    if sys.version_info < OLDEST:
        sys.exit(f"langladder needs Python 3.11 or newer, this is {platform.python_version()}: set PYTHON=/path/to/it")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path, help="the environment; made where absent")
    parser.add_argument("locks", type=Path, nargs="+", help="lock files")
    parser.add_argument("--torch", default="", help="cpu or cuda; empty: as before, at first by whether a GPU is here")
    arguments = parser.parse_args()
    if arguments.torch not in ("", "cpu", "cuda"):
        sys.exit(
            f"TORCH={arguments.torch}: one of cpu, cuda; or leave it out: cuda if an NVIDIA GPU is here, otherwise cpu"
        )
    environment = Environment(arguments.folder.absolute())
    create(environment)
    remembered = environment.folder / "torch-build"
    build = arguments.torch or (remembered.read_text(encoding="utf-8").strip() if remembered.is_file() else "")

    pins = {name: line for lock in arguments.locks for name, line in read_pins(lock).items()}
    here = environment.installed()
    missing = {name: line for name, line in pins.items() if here.get(name, "").split("+")[0] != pinned_version(line)}
    rest = {name: line for name, line in missing.items() if name != "torch"}
    torch = install_torch_build(environment, pins["torch"], build, set(pins)) if "torch" in pins else []
    files = ", ".join(lock.name for lock in arguments.locks)
    print(f"== {environment.folder.name}: {len(rest) + bool(torch)} packages of {files}", flush=True)
    # by themselves: what sources are built with, and what replaces a version that other pips would see vanish
    first = [line for name, line in rest.items() if name in BUILDERS or name in here]
    install_pins(environment, [first] if first else [])
    then = [line for line in rest.values() if line not in first]
    groups = [then[i::PIPS] for i in range(PIPS) if then[i::PIPS]]
    install_pins(environment, ([torch] if torch else []) + groups)
    if "torch" in pins:
        check_torch_build(environment, build)
        install_project(environment, arguments.locks, quiet=bool(build))
        remembered.write_text(build + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
