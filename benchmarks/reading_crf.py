"""The linear-chain CRF beside pytorch-crf: loss with its gradient, and Viterbi, in the same run on the same numbers.

python benchmarks/reading.py crf
"""

from collections.abc import Callable
from typing import Any

import click
import torch
from measure import machine, markdown, median_seconds, speed_row

from langladder.nn.crf import CRF

SHAPES = ((32, 25, 17), (32, 25, 9), (32, 40, 50))  # sentences, longest, tags: parts of speech, entities, fine tags
TARGET = 2


@click.command("crf")
@click.option("--repeats", default=15, show_default=True)
@click.option("--threads", default=1, show_default=True)
def crf(repeats: int, threads: int) -> None:
    """Words per second of a CRF's loss with gradient and of Viterbi, ours and pytorch-crf's, interleaved."""
    torch.set_num_threads(threads)
    try:
        import torchcrf
    except ImportError as error:
        raise click.ClickException("pytorch-crf is not installed: pip install pytorch-crf") from error
    rows = []
    for B, T, K in SHAPES:
        torch.manual_seed(1)
        ours, theirs = CRF(K), torchcrf.CRF(K, batch_first=True)
        parts = {"transitions": theirs.transitions, "start": theirs.start_transitions, "end": theirs.end_transitions}
        ours.load_state_dict(parts)
        lengths = torch.randint(T // 2, T + 1, (B,))
        lengths[0] = T
        mask = torch.arange(T) < lengths[:, None]
        emissions, tags = torch.randn(B, T, K), torch.randint(K, (B, T))
        loss = (
            lambda e, o=ours, y=tags, n=lengths: o(e, y, n).sum(),
            lambda e, t=theirs, y=tags, m=mask: -t(e, y, mask=m),
        )
        best = (
            lambda o=ours, e=emissions, n=lengths: o.viterbi(e, n),
            lambda t=theirs, e=emissions, m=mask: t.decode(e, m),
        )
        _same(loss, best, emissions, lengths)
        words = int(lengths.sum())
        learn = [_learning(one, emissions) for one in loss]
        for what, (mine, other) in (("loss and gradient", learn), ("Viterbi", best)):
            seconds = [[median_seconds(work, 1) for work in (other, mine)] for _ in range(repeats)]  # interleaved
            slow, quick = (sorted(column)[repeats // 2] for column in zip(*seconds, strict=True))
            rows.append(
                speed_row(words / slow, words / quick, TARGET, f"{what}, {K} tags, {B} sentences of ≤ {T} words")
            )
    head = ["words/s", "pytorch-crf", "ours", "ratio", "target"]
    markdown("Linear-chain CRF", head, rows, [f"medians of {repeats}; {machine(threads)}"])


def _learning(loss: Callable[[torch.Tensor], torch.Tensor], emissions: torch.Tensor) -> Callable[[], Any]:
    def step() -> torch.Tensor | None:
        given = emissions.clone().requires_grad_()
        loss(given).backward()
        return given.grad

    return step


def _same(loss: Any, best: Any, emissions: torch.Tensor, lengths: torch.Tensor) -> None:
    """See that both compute the same before either is timed."""
    torch.testing.assert_close(*(_learning(one, emissions)() for one in loss), atol=1e-4, rtol=1e-3)
    paths, theirs = best[0]()[0], best[1]()
    assert [row[:n].tolist() for row, n in zip(paths, lengths, strict=True)] == theirs
