"""The softmax over a large vocabulary with its gradients, against its matrix products alone.

python benchmarks/language_models.py softmax
"""

import click
import torch
from measure import machine, markdown, median_seconds, product_speed, threads, verdict

from langladder.ground.memory import keep_freed_memory
from langladder.nn.output import SoftmaxOutput


@click.command()
@click.option("--positions", default=700, show_default=True)
@click.option("--width", default=200, show_default=True)
@click.option("--vocabulary", default=33_278, show_default=True)
@threads
def main(positions: int, width: int, vocabulary: int, threads: int) -> None:
    """The softmax over a large vocabulary, forward and backward, against its matrix products alone."""
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    layer = SoftmaxOutput(width=width, vocab_size=vocabulary)
    hidden = torch.randn(positions, width, requires_grad=True)
    targets = torch.randint(vocabulary, (positions,))

    def ours() -> None:
        layer.zero_grad()
        (layer.loss(hidden, targets) / positions).backward()

    def plain() -> None:
        layer.zero_grad()
        torch.nn.functional.cross_entropy(layer(hidden), targets).backward()

    def chunked() -> None:
        layer.zero_grad()
        torch.nn.functional.linear_cross_entropy(
            hidden, layer.weight, targets, linear_bias=layer.bias, options=torch.nn.LinearCrossEntropyOptions()
        ).backward()

    e, W, h = torch.randn(positions, vocabulary), layer.weight.detach(), hidden.detach()
    z, dh, dW = torch.empty_like(e), torch.empty_like(h), torch.empty_like(W)

    def products() -> None:
        torch.mm(h, W.T, out=z)
        torch.mm(e, W, out=dh)
        torch.mm(e.T, h, out=dW)

    theirs, in_chunks = median_seconds(plain), median_seconds(chunked)
    keep_freed_memory()
    seconds = median_seconds(ours)
    speed = product_speed()
    ideal = 3 * 2 * positions * width * vocabulary / speed
    markdown(
        f"Softmax and cross-entropy with gradients, {positions} positions, D = {width}, V = {vocabulary:,}",
        ["", "ms", "against the ideal", "target"],
        [
            [f"its products at {speed / 1e9:.0f} GFLOP/s (2048 × 2048)", f"{ideal * 1e3:.0f}", "1 ×", ""],
            [
                "the three products, as they are",
                f"{(s := median_seconds(products)) * 1e3:.0f}",
                f"{s / ideal:.2f} ×",
                "",
            ],
            [
                "SoftmaxOutput.loss",
                f"{seconds * 1e3:.0f}",
                f"{seconds / ideal:.2f} ×",
                verdict(seconds / ideal, 2, at_most=True),
            ],
            ["linear_cross_entropy in chunks", f"{in_chunks * 1e3:.0f}", f"{in_chunks / ideal:.2f} ×", ""],
            ["nn.Linear and cross_entropy", f"{theirs * 1e3:.0f}", f"{theirs / ideal:.2f} ×", ""],
        ],
        [machine(threads)],
    )
