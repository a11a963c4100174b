"""quick_products: float32 by the library that is quicker on this processor, and no less exact."""

import pytest
import torch
from small_run import make_model, make_stream, settings

from langladder.data.language_modelling import WindowBatches
from langladder.models.making import Run
from langladder.tasks import float32
from langladder.tasks.float32 import quick_products
from langladder.tasks.language_modelling import LanguageModelling, train_language_model
from langladder.tasks.settings import LMTrainingConfig

EPYC = {"cpu_name": "AMD EPYC", "avx512_bf16": True, "amx_tile": False}


def on(monkeypatch, processor: dict, *, exact: bool | None = None) -> None:
    """As if on this processor; with `exact` as if its products were so, else they are asked."""
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: processor)
    float32._exact.cache_clear()
    if exact is not None:
        monkeypatch.setattr(float32, "_exact", lambda: exact)


@pytest.mark.parametrize(
    ("processor", "expected"),
    [
        (EPYC, "medium"),
        (EPYC | {"cpu_name": "AMD Ryzen 9 9950X 16-Core Processor"}, "medium"),
        (EPYC | {"cpu_name": "Intel Xeon Processor"}, "highest"),
        (EPYC | {"avx512_bf16": False}, "highest"),
        (EPYC | {"amx_tile": True}, "highest"),
        ({}, "highest"),
    ],
)
def test_the_processor_decides(processor, expected, monkeypatch):
    on(monkeypatch, processor, exact=True)
    with quick_products(shapes_recur=True):
        assert torch.get_float32_matmul_precision() == expected
    with quick_products(shapes_recur=False):  # each shape would be compiled for
        assert torch.get_float32_matmul_precision() == "highest"


def test_what_the_caller_has_chosen_stays(monkeypatch):
    on(monkeypatch, EPYC, exact=True)
    torch.set_float32_matmul_precision("high")
    try:
        with quick_products(shapes_recur=True):
            assert torch.get_float32_matmul_precision() == "high"
        assert torch.get_float32_matmul_precision() == "high"
    finally:
        torch.set_float32_matmul_precision("highest")
    with pytest.raises(KeyError), quick_products(shapes_recur=True):
        raise KeyError
    assert torch.get_float32_matmul_precision() == "highest"


def test_products_that_round_are_not_taken(monkeypatch):
    on(monkeypatch, EPYC)
    full = torch.full
    with monkeypatch.context() as patch:
        patch.setattr(torch, "full", lambda *given: full(*given).bfloat16().float())  # as AMX would read it
        with quick_products(shapes_recur=True):
            assert torch.get_float32_matmul_precision() == "highest"
    float32._exact.cache_clear()


@pytest.mark.parametrize("shape", [(64, 64, 64), (768, 128, 512), (700, 200, 2048), (60, 33, 7)])
def test_parity_with_products_in_float64(shape, monkeypatch):
    """On any processor, also where rounding had been allowed if nobody asked."""
    on(monkeypatch, EPYC)
    m, k, n = shape
    torch.manual_seed(0)
    x, w, grad = torch.randn(m, k), torch.randn(n, k), torch.randn(m, n)
    with quick_products(shapes_recur=True):
        found = x @ w.mT, grad @ w, grad.mT @ x
    x, w, grad = x.double(), w.double(), grad.double()
    for product, exact in zip(found, (x @ w.mT, grad @ w, grad.mT @ x), strict=True):
        assert (product - exact).abs().max() < 1e-6 * exact.abs().max() * max(shape) ** 0.5


@pytest.mark.parametrize("kind", ["lstm", "gpt"])
def test_parity_of_training(kind, tmp_path, monkeypatch):
    """The same curve, whichever library multiplies; and it is the quick one only where the shapes of batches recur."""
    seen, loss = set(), LanguageModelling.loss

    def watched(self, batch):
        seen.add(torch.get_float32_matmul_precision())
        return loss(self, batch)

    def curve(name: str) -> list:
        seen.clear()
        made = train_language_model(
            make_model(kind),
            make_stream(0),
            make_stream(1),
            LMTrainingConfig(**settings()),
            Run(1, tmp_path / name),
        )
        return [value for row in made.curve for value in row.values() if value is not None]

    monkeypatch.setattr(LanguageModelling, "loss", watched)
    on(monkeypatch, {})
    plain = curve("plain")
    assert seen == {"highest"}
    with monkeypatch.context() as patch:
        on(patch, EPYC, exact=True)
        assert curve("quick") == pytest.approx(plain, rel=1e-2) and seen == {"medium"}  # tiles would round
    if kind == "gpt":
        on(monkeypatch, EPYC, exact=True)
        monkeypatch.setattr(WindowBatches, "shapes_recur", False)
        assert curve("shapes") == plain and seen == {"highest"}
