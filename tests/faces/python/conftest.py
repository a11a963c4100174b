"""Small models of every family that Python can ask, each made once."""

from pathlib import Path

import numpy as np
import pytest
import torch

from langladder.embeddings.base import WordVectors
from tests.faces.mlflow import test_python_functions as small


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with models/<family>/<rung>, as a checkout has it."""
    folder = tmp_path_factory.mktemp("project")
    models = folder / "models"
    torch.manual_seed(1)
    makers = {
        "lm/kneser_ney": small.n_grams,
        "lm/gpt": small.gpt,
        "encoder/bert_mini": small.encoder,
        "classifier/logistic": small.classifier,
        "tagger/hmm": small.tagger,
        "reader/sliding_window": small.reader,
        "translator/attention": small.translator,
        "instruct/sft": small.instructed,
        "reward/reward": small.reward,
    }
    for name, make in makers.items():
        (models / name).parent.mkdir(parents=True, exist_ok=True)
        make(models / name)
    vectors = np.array([[1, 1], [1, 0.9], [1, 0]], dtype=np.float32)
    WordVectors(["king", "queen", "the"], vectors).save(models / "embedding" / "skipgram")
    return folder
