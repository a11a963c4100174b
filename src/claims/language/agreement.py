"""Number agreement over a distance: the cat that the dogs chase … sleeps, not sleep.

The task is that of Linzen, Dupoux & Goldberg (2016), whose LSTM learned it from labels, but failed as a language model.
The claim, that language models learn it, is of Gulordava et al. (2018), and of Goldberg (2019) about attention.

A pair of texts differs in the number of one verb. There are relative clauses between it and its subject, or none, and
no noun directly before the verb has its number. Of microworld's pairs, the last line is such a sentence, and the lines
before it are a story. A model is right if

    log P(good sentence) > log P(bad sentence)

A model that only sees the last few words cannot be right, because these words suggest the wrong verb.
"""

import json
import math
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from pydantic import Field

from langladder.data.language_modelling import pad_rows
from langladder.experiments.experiment import Data, Experiment, ExperimentConfig, Progress
from langladder.experiments.findings import Findings, Plot, opened, rounded, series
from langladder.experiments.statistics import Verdict, every, gated, of_shares
from langladder.ground import schema
from langladder.ground.errors import InputError
from langladder.models.language.counted import CountedLanguageModel
from langladder.models.language.language_model import LanguageModel
from langladder.text.tokenize.encoding import framed
from langladder.text.tokenize.tokenizers import Tokenizer

CHANCE = 0.5
ROWS = 128  # sentences scored at a time
Shares = dict[int, tuple[float, int]]  # clauses → share of correct pairs, number of pairs


class AgreementConfig(ExperimentConfig):
    """Settings of `Agreement`."""

    pairs: int = Field(default=200, ge=1)  # maximum pairs per number of clauses, from the start
    margin: float = Field(default=0.05, ge=0)  # smallest difference that counts, as a share of the pairs


class Agreement(Experiment[AgreementConfig]):
    """Share of correct pairs by the number of clauses between subject and verb; one line per trained model."""

    Config: ClassVar[type[schema.Config]] = AgreementConfig
    reads = ("agreement", "models")

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:  # noqa: ARG002 - nothing is drawn
        """See `Experiment.examine`."""
        pairs = read_pairs(data.agreement, self.config.pairs)
        shares: dict[str, Shares] = {}
        counted: set[str] = set()
        for name, folder in data.models.items():
            model, tokenizer = LanguageModel.load(folder), Tokenizer.load(folder / "tokenizer.json")
            shares[name] = {clauses: _share(model, tokenizer, some) for clauses, some in pairs.items()}
            counted |= {name} if isinstance(model, CountedLanguageModel) else set()
            progress(f"{name}: " + ", ".join(f"{share:.0%}" for share, _ in shares[name].values()))
        return findings(shares, counted, data.title_of, self.config.margin)


def read_pairs(path: Path, most: int) -> dict[int, list[tuple[str, str]]]:
    """Number of clauses → the first `most` pairs (good, bad).

    Raises:
        InputError: there is no such file, or a line is not a pair (the message names file and line).
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file; set paths.agreement in params.yaml, or remove agreement from probes")
    pairs: dict[int, list[tuple[str, str]]] = defaultdict(list)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as UTF-8 text ({error})") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue  # a corpus without pairs has a blank file
        try:
            pair = json.loads(line)
            good, bad, clauses = str(pair["good"]), str(pair["bad"]), int(pair["clauses"])
            (good + bad).encode()  # a lone surrogate is not valid text
        except (ValueError, KeyError, TypeError, RecursionError, OverflowError) as error:
            raise InputError(
                f'{path}:{number}: not {{"good": …, "bad": …, "clauses": number}} ({str(error)[:100]})'
            ) from error
        if len(pairs[clauses]) < most:
            pairs[clauses].append((good, bad))
    return dict(sorted(pairs.items()))


def sentence_log_probs(model: LanguageModel, tokenizer: Tokenizer, texts: list[str]) -> torch.Tensor:
    """log P of each text, the ends of its lines included: (N,) float64. A text is a sentence, or a document's lines."""
    rows = [np.concatenate([framed(ids) for ids in tokenizer.encode_lines(text.split("\n"))]) for text in texts]
    groups = [pad_rows(rows[first : first + ROWS]) for first in range(0, len(rows), ROWS)]
    return torch.cat([model.log_probs(group).double().sum(dim=1) for group in groups])


def _share(model: LanguageModel, tokenizer: Tokenizer, pairs: list[tuple[str, str]]) -> tuple[float, int]:
    good, bad = (sentence_log_probs(model, tokenizer, list(side)) for side in zip(*pairs, strict=True))
    neither = torch.isneginf(good) & torch.isneginf(bad)  # both have probability 0, so the model can only guess
    return float((good > bad).double().mean() + CHANCE * neither.double().mean()), len(pairs)


def findings(
    results: dict[str, Shares], counted: set[str], title_of: Callable[[str], str] = str, margin: float = 0.05
) -> Findings:
    """The claim holds if, with one or more clauses, every network is as good as without one and every n-gram is worse.

    There is no verdict on a model that is not above chance without a clause; a network that is, and loses the number
    beyond the margin, refutes the claim whatever the n-gram does. Each is one model of the ladder, so the result is
    about this model, and intervals are over the pairs.
    """
    distances = sorted({clauses for shares in results.values() for clauses in shares})
    far = {name: _pooled(shares) for name, shares in results.items() if any(shares)}
    networks, ngrams = [n for n in far if n not in counted], [n for n in far if n in counted]
    verdict = Verdict(None, "needs a network, an n-gram and pairs with and without clauses")
    if networks and ngrams and all(0 in results[name] for name in far):
        lost = {name: of_shares(results[name][0], far[name]) for name in far}
        parts = {name: (-lost[name]).within(margin) for name in networks}
        parts |= {name: lost[name].exceeds(margin) for name in ngrams}
        verdict = every(gated([_knows(title_of(name), results[name][0])], part) for name, part in parts.items())
    shares_text = ", ".join(f"{title_of(name)} {100 * share:.0f} %" for name, (share, _) in far.items())
    measured = (
        "of the pairs with one or more clauses between subject and verb, each model gets right: "
        f"{shares_text} (by chance 50 %)."
    )
    return Findings(
        **opened(verdict, measured if far else "paths.agreement contains no pairs with clauses."),
        columns=["model", *(f"{clauses} clauses" for clauses in distances)],
        rows=[
            [title_of(name), *(rounded(shares[k][0]) if k in shares else None for k in distances)]
            for name, shares in results.items()
        ],
        plots=[
            Plot(
                title="Number agreement",
                x_label="relative clauses between subject and verb",
                y_label="share of correct pairs",
                levels={"chance": CHANCE},
                series=[
                    series(
                        title_of(name),
                        list(shares),
                        [share for share, _ in shares.values()],
                        [_error(share, count) for share, count in shares.values()],
                    )
                    for name, shares in results.items()
                ],
            )
        ],
        figures={f"{name}_far": share for name, (share, _) in far.items()},
    )


def _knows(name: str, near: tuple[float, int]) -> Verdict:
    if of_shares(near, (CHANCE, 0)).low > 0:
        return Verdict(True)
    return Verdict(None, f"{name} is not above chance even without a clause, {near[0]:.0%}")


def _pooled(shares: Shares) -> tuple[float, int]:
    """The result over all distances except 0."""
    far = [value for clauses, value in shares.items() if clauses]
    count = sum(number for _, number in far)
    return sum(share * number for share, number in far) / count, count


def _error(share: float, count: int) -> float:
    """Standard error √(p (1 − p) / n)."""
    return math.sqrt(share * (1 - share) / count)
