"""What a run ends with: the mean of its last weights, or those that translate best."""

import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_run import STEPS, make_model, make_stream, moved, stop_at
from small_run import settings as lm_settings
from torch import nn

from langladder.data.language_modelling import StreamBatches
from langladder.evaluation.bleu import BleuConfig, corpus_bleu
from langladder.faces.report.inputs import read_curve
from langladder.ground.errors import InputError
from langladder.models.making import Run, TrainingResult
from langladder.models.translation.transformer import Transformer, TransformerConfig
from langladder.models.translation.translator import Translator
from langladder.tasks.checkpoints import read_checkpoint
from langladder.tasks.language_modelling import LanguageModelling, train_language_model
from langladder.tasks.settings import LMTrainingConfig, TranslationTraining
from langladder.tasks.translation import BleuSample, TranslationTask, train_translator
from langladder.text.storage.token_streams import PairStream
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import Tokenizer, TokenizerConfig

WORDS = ["a", "b", "c", "d", "e", "f", "g", "h"]


@pytest.fixture(autouse=True)
def one_thread():
    """Networks this small lose time to a second thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def equal(a: nn.Module, b: nn.Module) -> bool:
    return all(torch.equal(p, q) for p, q in zip(a.state_dict().values(), b.state_dict().values(), strict=True))


def train_lm(work: Path, **changes: Any) -> tuple[nn.Module, TrainingResult]:
    model = make_model("lstm")
    config = LMTrainingConfig(**lm_settings(**changes))
    return model, train_language_model(model, make_stream(0), make_stream(1), config, Run(1, work))


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer([" ".join(WORDS)], TokenizerConfig(kind="word", vocab_size=None))


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory, tokenizer: Tokenizer) -> PairStream:
    """Its translation is the sentence itself."""
    random, path = np.random.default_rng(0), tmp_path_factory.mktemp("pairs") / "pairs.arrow"
    sentences = [tokenizer.encode(" ".join(random.choice(WORDS, random.integers(3, 7)))) for _ in range(120)]
    PairStream.write(path, ((np.append(ids, EOS), np.concatenate([[BOS], ids, [EOS]])) for ids in sentences))
    return PairStream.open(path)


def train(
    work: Path, pairs: PairStream, tokenizer: Tokenizer | None, **changes: Any
) -> tuple[Translator, TrainingResult]:
    torch.manual_seed(0)
    settings = TransformerConfig(width=16, layers=1, heads=2, dropout=0.1)
    model = Transformer(settings, len(WORDS) + 4, len(WORDS) + 4)
    chosen = {
        "max_steps": 60, "batch_tokens": 128, "lr": 1e-2, "validate_every": 10, "checkpoint_every": 7,
        "progress": False, "accelerator": "cpu", "precision": "fp32", "early_stopping": "bleu", "bleu_pairs": 30,
    }  # fmt: skip
    config = TranslationTraining.model_validate(chosen | changes)
    return model, train_translator(model, pairs, pairs, config, Run(1, work), target_tokenizer=tokenizer)


def test_golden_mean_of_the_last_checkpoints(tmp_path: Path) -> None:
    """Weights at steps 10, 15 and 16, the last three validations, gathered here by hand."""
    seen: dict[int, dict[str, torch.Tensor]] = {}
    loss = LanguageModelling.loss

    def watched(task, batch):
        seen[task.steps_done] = {name: value.clone() for name, value in task.model.state_dict().items()}
        return loss(task, batch)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LanguageModelling, "loss", watched)
        plain, without = train_lm(tmp_path / "plain")
    seen[STEPS] = {
        name.removeprefix("model."): value
        for name, value in read_checkpoint(tmp_path / "plain" / "last.safetensors")["state_dict"].items()
    }
    averaged, result = train_lm(tmp_path / "averaged", average_checkpoints=3)
    for name, value in averaged.state_dict().items():
        expected = sum(seen[step][name].double() for step in (10, 15, 16)) / 3
        torch.testing.assert_close(value.double(), expected, rtol=0, atol=1e-7)
    assert result.curve == without.curve and not equal(averaged, plain)
    task = LanguageModelling(averaged, LMTrainingConfig(**lm_settings()))
    batches = StreamBatches(make_stream(0), make_stream(1), batch_size=2, sequence_length=4, seed=1)
    sums = [task.evaluate(batch) for batch in batches.validation()]
    expected_loss = sum(total for total, _ in sums) / sum(count for _, count in sums)
    assert result.validation_loss == pytest.approx(expected_loss, rel=1e-6)
    assert result.validation_loss != without.validation_loss
    assert len(list((tmp_path / "averaged" / "snapshots").iterdir())) == 3


def test_tied_weights_stay_tied_and_all_snapshots_are_taken_where_there_are_few(tmp_path: Path) -> None:
    model, _ = train_lm(tmp_path, average_checkpoints=50)
    assert len(list((tmp_path / "snapshots").iterdir())) == 4  # steps 5, 10, 15, 16
    parameters = dict(model.named_parameters(remove_duplicate=False))
    assert parameters["head.weight"] is parameters["embedding.weight"]


@pytest.mark.parametrize("stop", [5, 8, 11, 15])
def test_interrupted_average_ends_with_the_same_bits(tmp_path: Path, monkeypatch, stop: int) -> None:
    whole, expected = train_lm(tmp_path / "whole", average_checkpoints=2)
    with monkeypatch.context() as patch:
        stop_at(patch, LanguageModelling, stop)
        with pytest.raises(KeyError):
            train_lm(tmp_path / "broken", average_checkpoints=2)
    work = moved(tmp_path / "broken")
    for _ in range(2):  # resumed, and asked again when finished
        model, result = train_lm(work, average_checkpoints=2)
        assert equal(model, whole) and result.curve == expected.curve
        assert result.validation_loss == expected.validation_loss


@pytest.mark.long
@pytest.mark.slow
def test_killed_process_resumes_to_the_same_average(tmp_path: Path) -> None:
    """SIGKILL while it trains: no handler runs, no file is closed."""
    script = textwrap.dedent(
        """
        import sys, time
        from pathlib import Path
        from test_averaging_and_bleu import LanguageModelling, train_lm
        loss = LanguageModelling.loss
        def slow(task, batch):
            time.sleep(0.1)
            return loss(task, batch)
        LanguageModelling.loss = slow
        train_lm(Path(sys.argv[1]), average_checkpoints=3)
        """
    )
    broken = tmp_path / "broken"
    command = [sys.executable, "-c", script, str(broken)]
    process = subprocess.Popen(command, cwd=Path(__file__).parent, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not (broken / "snapshots" / "000000010.safetensors").exists() and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.02)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert read_checkpoint(broken / "last.safetensors")["steps_done"] < STEPS
    model, result = train_lm(broken, average_checkpoints=3)
    whole, expected = train_lm(tmp_path / "whole", average_checkpoints=3)
    assert equal(model, whole) and result.curve == expected.curve


def test_average_without_validation_data(tmp_path: Path, pairs: PairStream) -> None:
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(width=8, layers=1, heads=2), 12, 12)
    values = {"max_steps": 5, "validate_every": 2, "progress": False, "accelerator": "cpu", "precision": "fp32"}
    config = TranslationTraining.model_validate(values | {"average_checkpoints": 2})
    result = train_translator(model, pairs, None, config, Run(1, tmp_path))
    names = sorted(path.name for path in (tmp_path / "snapshots").iterdir())
    assert names == ["000000004.safetensors", "000000005.safetensors"] and result.validation_loss is None
    states = [read_checkpoint(tmp_path / "snapshots" / name)["state_dict"] for name in names]
    for name, value in model.state_dict().items():
        mean = (states[0][f"model.{name}"].double() + states[1][f"model.{name}"].double()) / 2
        torch.testing.assert_close(value.double(), mean, rtol=0, atol=1e-7)


def test_bleu_chooses_the_weights(tmp_path: Path, pairs: PairStream, tokenizer: Tokenizer) -> None:
    model, result = train(tmp_path, pairs, tokenizer)
    curve = {row["step"]: row["validation_bleu"] for row in result.curve if "validation_bleu" in row}
    assert list(curve) == [10, 20, 30, 40, 50, 60]
    best = max(curve.values())
    assert best > min(curve.values()) and 0 <= best <= 100
    assert BleuSample.of(pairs, 30, tokenizer).bleu(model) == best
    (row,) = [row for row in result.curve if row.get("validation_bleu") == best][:1]
    assert result.validation_loss == row["validation_loss"]


def test_curve_with_bleu_on_disk(tmp_path: Path) -> None:
    """Steps without a validation have an empty cell."""
    # here, since the process that is killed imports this file from its folder
    from pipeline.tracking.job import write_curve

    rows = [
        {"step": 5, "train_loss": 2.5, "validation_loss": None, "lr": 0.1},
        {"step": 10, "train_loss": 2.0, "validation_loss": 2.25, "lr": 0.1, "validation_bleu": 12.5},
    ]
    write_curve(tmp_path / "curve.csv", rows)
    lines = (tmp_path / "curve.csv").read_text().splitlines()
    assert lines == ["step,train_loss,validation_loss,lr,validation_bleu", "5,2.5,,0.1,", "10,2.0,2.25,0.1,12.5"]
    points = read_curve(tmp_path / "curve.csv")
    assert [(point.validation_loss, point.validation_bleu) for point in points] == [(None, None), (2.25, 12.5)]


def test_golden_bleu_of_the_sample(pairs: PairStream, tokenizer: Tokenizer) -> None:
    """The figure is that of the evaluation stage for the same sentences; rows 0, 40, 79, 119 of 120."""
    torch.manual_seed(2)
    model = Transformer(TransformerConfig(width=8, layers=1, heads=2), 12, 12).eval()
    sample = BleuSample.of(pairs, 4, tokenizer)
    assert [ids.tolist() for ids in sample.sources] == [pairs.source.row(row).tolist() for row in (0, 40, 79, 119)]
    assert sample.references == [tokenizer.decode(source[:-1]) for source in sample.sources]

    # as if the model wrote each source but its last word
    texts = [" ".join(reference.split()[:-1]) for reference in sample.references]
    with pytest.MonkeyPatch.context() as patch:
        answers = [[_Found(tokenizer.encode(text).tolist())] for text in texts]
        patch.setattr("langladder.tasks.translation.translate", lambda *_: answers)
        assert sample.bleu(model) == corpus_bleu(texts, [[reference] for reference in sample.references])
        patch.setattr(Tokenizer, "decode", lambda *_: "猫在桌子下睡觉。")
        item = replace(sample, sources=sample.sources[:1], references=["猫在桌子上睡觉。"])
        patch.setattr("langladder.tasks.translation.translate", lambda *_: answers[:1])
        config = BleuConfig(tokenize="zh", bootstrap=0)
        assert item.bleu(model) == 0  # a word, and the wrong one
        assert replace(item, bleu_tokenize="zh").bleu(model) == corpus_bleu(
            ["猫在桌子下睡觉。"], [item.references], config
        )
        assert replace(item, bleu_tokenize="zh").bleu(model) > 50


class _Found:
    def __init__(self, tokens: list[int]) -> None:
        self.tokens = tokens


def test_patience_watches_bleu(tmp_path: Path, pairs: PairStream, tokenizer: Tokenizer, monkeypatch) -> None:
    """BLEU 1, 3, 2, 3, 4: the third validation without a new best would be the fifth, had it not been one."""
    planned = iter([1.0, 3.0, 2.0, 3.0, 4.0, 0.0])
    monkeypatch.setattr(BleuSample, "bleu", lambda *_: next(planned))
    _, result = train(tmp_path / "3", pairs, tokenizer, patience=3)
    assert result.steps == 60
    planned = iter([1.0, 3.0, 2.0, 3.0, 4.0, 0.0])
    model, result = train(tmp_path / "2", pairs, tokenizer, patience=2)
    assert result.steps == 40
    best = read_checkpoint(tmp_path / "2" / "best.safetensors")["state_dict"]
    assert all(torch.equal(value, best[f"model.{name}"]) for name, value in model.state_dict().items())
    again, repeated = train(tmp_path / "2", pairs, tokenizer, patience=2)  # stays stopped: nothing is planned for it
    assert equal(again, model) and repeated.curve == result.curve


@pytest.mark.parametrize("stop", [12, 35])
def test_interrupted_choice_by_bleu_ends_with_the_same_bits(
    tmp_path: Path, pairs, tokenizer, monkeypatch, stop
) -> None:
    whole, expected = train(tmp_path / "whole", pairs, tokenizer)
    with monkeypatch.context() as patch:
        stop_at(patch, TranslationTask, stop)
        with pytest.raises(KeyError):
            train(tmp_path / "broken", pairs, tokenizer)
    model, result = train(moved(tmp_path / "broken"), pairs, tokenizer)
    assert equal(model, whole) and result.curve == expected.curve


def test_bleu_needs_validation_pairs_and_a_tokenizer(tmp_path: Path, pairs: PairStream) -> None:
    with pytest.raises(InputError, match="early_stopping=bleu: BLEU needs validation pairs"):
        train(tmp_path, pairs, None)
