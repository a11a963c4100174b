"""The page Continue: what `langladder generate` draws, token by token, all models at once."""

import json
import shutil

from starlette.testclient import TestClient

from langladder.decoding.sampling import SamplingConfig, complete
from langladder.faces.explorer.app import create
from langladder.faces.http.shelf import Shelf

MODELS = ("kneser_ney", "lstm", "gpt")


def _last(events) -> dict:
    return {event["model"]: event for event in events}


def test_each_model_says_what_the_command_says(ask, models) -> None:
    body = {"prompt": "the cat", "models": MODELS, "seed": 3, "temperature": 0.8, "top_k": 20, "max_tokens": 12}
    events = ask("/api/continue/text", body)
    for name, event in _last(events).items():
        rung = models.language_model(name)
        config = SamplingConfig(seed=event["seed"], temperature=0.8, top_k=20, max_tokens=12)
        whole = complete(rung.model, rung.tokenizer, "the cat", config)
        assert "the cat" + event["text"] == whole
        assert event["end"] in ("stop", "length")
    firsts = [event["model"] for event in events[:3]]
    assert firsts == [*MODELS], "all grow at once"


def test_each_model_has_random_numbers_of_its_own(checkout) -> None:
    twin = checkout / "models" / "lm" / "twin"
    shutil.copytree(checkout / "models" / "lm" / "kneser_ney", twin)
    try:
        with TestClient(create(Shelf.below([checkout / "models"]))) as client:
            body = {"prompt": "the", "models": ["kneser_ney", "twin"], "temperature": 3, "max_tokens": 30}
            answers = [client.post("/api/continue/text", json=body | {"seed": seed}).text for seed in (1, 1, 2)]
    finally:
        shutil.rmtree(twin)
    parts = [[json.loads(line[6:]) for line in text.split("\n\n") if line.startswith("data: {")] for text in answers]
    first, again, other = map(_last, parts)
    assert first == again and first != other
    assert first["kneser_ney"]["seed"] != first["twin"]["seed"]
    assert first["kneser_ney"]["text"] != first["twin"]["text"]  # one model twice: coupled draws would be equal


def test_temperature_zero_is_greedy_and_a_seed_decides(ask, models) -> None:
    body = {"prompt": "the", "models": ["gpt"], "max_tokens": 6}
    greedy = _last(ask("/api/continue/text", body | {"temperature": 0, "seed": 1}))["gpt"]["text"]
    assert greedy == _last(ask("/api/continue/text", body | {"temperature": 0, "seed": 2}))["gpt"]["text"]
    rung = models.language_model("gpt")
    assert "the" + greedy == complete(
        rung.model, rung.tokenizer, "the", SamplingConfig(strategy="greedy", max_tokens=6)
    )
    drawn = {_last(ask("/api/continue/text", body | {"seed": seed}))["gpt"]["text"] for seed in range(4)}
    assert len(drawn) > 1


def test_a_broken_model_leaves_the_others_alone(ask) -> None:
    result = _last(ask("/api/continue/text", {"prompt": "a", "models": ["broken", "gpt"], "max_tokens": 2}))
    assert "broken" in result["broken"]["error"]["message"]
    assert "error" not in result["gpt"]


def test_limits_are_reported(ask) -> None:
    for change in ({"prompt": "x" * 5001}, {"max_tokens": 401}, {"temperature": -1}, {"top_p": 0}, {"seed": -1}):
        message = ask("/api/continue/text", {"models": ["gpt"]} | change, 400)["error"]["message"]
        assert next(iter(change)) in message
