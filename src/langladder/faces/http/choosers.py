"""Who chooses among the answers of an instructed model: what the options say, or what the rung itself was."""

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from langladder.ground.errors import InputError

if TYPE_CHECKING:
    from langladder.decoding.chosen_answers import Chooser
    from langladder.text.tokenize.tokenizers import Tokenizer

MOST = 4096
METHOD = "best_of_n"


def chooser_of(folder: Path, tokenizer: "Tokenizer", best_of: int | None, judge: Path | None) -> "Chooser | None":
    """Who chooses among the answers of the model in `folder`; None: its one answer is given.

    Args:
        best_of, judge: the options; None: as the rung's provenance.json has it, where it is a best-of-n.

    Raises:
        InputError: the reward model is missing, damaged or of another tokenizer; there is a number without one.
    """
    own, said = _told(folder) if best_of is None or judge is None else (None, None)
    n, place = best_of or own, judge or said
    if n is None:
        return None
    if place is None:
        raise InputError("--best-of: nobody chooses; give --judge FOLDER, a reward model such as models/reward/reward")
    if not (place / "config.json").is_file():
        raise InputError(f"{place}: no saved reward model, which chooses the answers of {folder}; give --judge FOLDER")
    from langladder.decoding.chosen_answers import Chooser
    from langladder.models.reward import RewardModel

    model = RewardModel.load(place)
    model.check_policy(tokenizer, str(folder))
    return Chooser(n, model)


def _told(folder: Path) -> tuple[int | None, Path | None]:
    """n and the reward model of a rung that is a best-of-n, (None, None) of others."""
    from langladder.ground.artefacts import read_json

    file = folder / "provenance.json"
    found: Any = read_json(file) if file.is_file() else None
    for key in ("settings", "align"):
        found = found.get(key) if isinstance(found, dict) else None
    if not isinstance(found, dict) or found.get("method") != METHOD:
        return None, None
    n, reads = found.get("n"), PurePosixPath(str(found.get("reads")))
    if not isinstance(n, int) or isinstance(n, bool) or not 1 <= n <= MOST:
        raise InputError(f"{file}: settings.align.n is {n!r}; expected a whole number from 1 to {MOST}")
    if reads.parts[:2] != ("models", "reward") or len(reads.parts) != 3 or ".." in reads.parts:
        raise InputError(
            f"{folder}: its answers are chosen by {str(reads)!r}, which is no reward model; give --best-of N and "
            "--judge FOLDER, a reward model such as models/reward/reward"
        )
    return n, folder.absolute().parent.parent.parent / reads
