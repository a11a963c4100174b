"""Placeholders: a training loads neither torch's compiler nor torchmetrics; whoever asks for them gets the real."""

import subprocess
import sys

TRAINING = """
import sys
import langladder.tasks.training
import pytorch_lightning as pl
import torch

network = torch.nn.Linear(2, 2)
for kind in (torch.optim.AdamW, torch.optim.SGD, torch.optim.Adagrad):
    optimizer = kind(network.parameters(), lr=1.0)
    optimizer.zero_grad()
    network(torch.ones(1, 2)).sum().backward()
    optimizer.step()

class Task(pl.LightningModule):
    def training_step(self, batch):
        self.log("loss", batch.sum())
        return network(batch).sum()

    def configure_optimizers(self):
        return optimizer

logs = dict(logger=False, enable_progress_bar=False, enable_checkpointing=False, enable_model_summary=False)
trainer = pl.Trainer(max_steps=2, accelerator="cpu", **logs)
trainer.fit(Task(), torch.utils.data.DataLoader(torch.ones(2, 2)))
assert trainer.callback_metrics["loss"] == 2
assert "pytorch_lightning" in sys.modules
unwanted = {"sympy", "scipy.signal", "matplotlib", "torch._inductor", "torchmetrics.functional.text"}
print(sorted(unwanted & set(sys.modules)))
"""

REAL = """
import sys
import langladder.tasks
import torch
import torch._dynamo.eval_frame
assert torch._dynamo.eval_frame is sys.modules["torch._dynamo.eval_frame"]
assert torch._dynamo.eval_frame.__spec__.origin.endswith("eval_frame.py")
assert torch.compile(lambda x: x + 1, backend="eager")(torch.zeros(1)) == 1

import torchmetrics
assert type(torchmetrics).__name__ == "Placeholder"
assert issubclass(torchmetrics.MeanMetric, sys.modules["torchmetrics"].Metric)
from torchmetrics.functional.text import char_error_rate
assert char_error_rate("abcd", "abce") == 0.25
print(type(sys.modules["torch._dynamo"]).__name__, type(sys.modules["torchmetrics"]).__name__)
"""


def _printed(code: str) -> str:
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip().splitlines()[-1]


def test_a_training_does_not_load_what_it_does_not_use() -> None:
    assert _printed(TRAINING) == "[]"


def test_whoever_asks_gets_the_real_module() -> None:
    assert _printed(REAL) == "module module"
