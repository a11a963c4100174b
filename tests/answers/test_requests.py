"""Requests: the limits and defaults of what the decoders decide are theirs; what contradicts itself is refused."""

from typing import Any

import pytest

from langladder.answers.requests import ChatRequest, GenerateRequest, TranslateRequest
from langladder.decoding.beam_search import BeamConfig
from langladder.decoding.sample_translations import SampleConfig
from langladder.decoding.sampling import SamplingConfig
from langladder.ground.errors import InputError
from langladder.ground.schema import Config


@pytest.mark.parametrize(
    ("request_class", "config"),
    [(GenerateRequest, SamplingConfig), (TranslateRequest, BeamConfig), (TranslateRequest, SampleConfig)],
)
def test_limits_and_defaults_are_those_of_the_decoder(request_class: type[Config], config: type[Config]) -> None:
    fields, theirs = request_class.model_fields, config.model_fields
    common = fields.keys() & theirs.keys() - {"seed"}  # a command takes any seed of 32 bits
    assert len(common) >= 4
    for name in common:
        assert sorted(map(repr, fields[name].metadata)) == sorted(map(repr, theirs[name].metadata)), name
        assert fields[name].default == theirs[name].default, name


def test_a_request_becomes_the_settings_of_a_decoder() -> None:
    drawn = TranslateRequest(sample=True, n_best=3, top_k=5, seed=4, max_length=7).search()
    assert drawn == SampleConfig(samples=3, top_k=5, seed=4, max_length=7)
    assert TranslateRequest(beam=4, groups=2, n_best=2).search() == BeamConfig(width=4, groups=2, n_best=2)
    with pytest.raises(InputError, match="n_best=9 exceeds width=5"):
        TranslateRequest(n_best=9).search()
    assert GenerateRequest(greedy=True, max_tokens=3).sampling() == SamplingConfig(strategy="greedy", max_tokens=3)
    settings: dict[str, Any] = {"temperature": 0.5, "max_tokens": 9, "seed": 2}
    assert ChatRequest(sample=True, **settings).sampling() == SamplingConfig(**settings)
