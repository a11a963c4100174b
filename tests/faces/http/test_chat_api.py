"""OpenAI's chats, asked over HTTP: the answers are those of `langladder chat`."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.testclient import TestClient

from langladder.answers.chat import Assistant, Conversation, chooser_of, chosen_answer
from langladder.decoding.sampling import SamplingConfig
from langladder.faces.http.api import create
from langladder.faces.http.shelf import Shelf
from langladder.models.language.instructed import read_instructed
from langladder.models.reward import RewardModel, begin_reward
from langladder.text.labelled.templates import ChatTemplate
from tests.faces.http.conftest import running
from tests.models.spoken import TOKENIZER, asked, saved_base, saved_instructed

TEMPLATE = ChatTemplate(TOKENIZER)
SAY = [{"role": "user", "content": "say cat"}]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("chat")
    sft = saved_instructed(root / "models/instruct/sft", context=24)
    rung = SimpleNamespace(name="reward", model=RewardModel.Config())
    begin_reward(rung, sft, seed=1).save(root / "models/reward/reward")
    shutil.copytree(sft, root / "models/align/best")
    align = {"method": "best_of_n", "n": 5, "reads": "models/reward/reward"}
    (root / "models/align/best/provenance.json").write_text(json.dumps({"settings": {"align": align}}))
    saved_base(root / "models/lm/gpt")
    return root / "models"


@pytest.fixture(scope="module")
def shelf(models: Path) -> Shelf:
    return Shelf.of([models / "instruct/sft", models / "align/best", models / "lm/gpt"])


@pytest.fixture(scope="module")
def ask(shelf: Shelf) -> Iterator[Any]:
    """ask(options) → JSON, or the events of a stream."""
    with TestClient(create(shelf), raise_server_exceptions=False) as client:

        def post(status: int = 200, **options: Any) -> Any:
            body = {"model": "sft", "messages": SAY, "max_tokens": 6, "temperature": 0} | options
            answer = client.post("/v1/chat/completions", json=body)
            assert answer.status_code == status, answer.text
            if not answer.headers["content-type"].startswith("text/event-stream"):
                return answer.json()
            *events, last = [line.removeprefix("data: ") for line in answer.text.split("\n\n") if line]
            assert last == "[DONE]"
            return [json.loads(event) for event in events]

        yield post


def content(answer: Any) -> list[str]:
    return [choice["message"]["content"] for choice in answer["choices"]]


@pytest.mark.parametrize("how", [{"temperature": 0}, {"temperature": 1.5, "seed": 4}])
def test_a_dialogue_is_answered_as_by_the_command(ask: Any, models: Path, how: dict[str, Any]) -> None:
    config = SamplingConfig(max_tokens=6, **{"strategy": "greedy"} if not how["temperature"] else how)
    model, _ = read_instructed(models / "instruct/sft")
    conversation = Conversation(Assistant(model, TEMPLATE), config, system="please")
    first = conversation.say("say cat").text
    conversation.number = 0  # each request draws by its own seed
    second = conversation.say("not").text
    system = {"role": "developer", "content": [{"type": "text", "text": "ple"}, {"type": "text", "text": "ase"}]}
    result = ask(messages=[system, *SAY], **how)
    assert content(result) == [first]
    assert result["object"] == "chat.completion" and result["choices"][0]["message"]["role"] == "assistant"
    turns = [result["choices"][0]["message"], {"role": "user", "content": "not"}]
    assert content(ask(messages=[system, *SAY, *turns], **how)) == [second]


def test_what_is_streamed_is_what_is_answered_at_once(ask: Any) -> None:
    for more in ({}, {"n": 2, "temperature": 1, "seed": 3}, {"stop": "o"}, {"logprobs": True, "top_logprobs": 2}):
        whole = ask(**more)
        usage = {"stream": True, "stream_options": {"include_usage": True}}
        *events, last = ask(**more, **usage)
        assert last["usage"] == whole["usage"] and last["choices"] == []
        assert {event["object"] for event in events} == {"chat.completion.chunk"}
        for choice in whole["choices"]:
            mine = [event["choices"][0] for event in events if event["choices"][0]["index"] == choice["index"]]
            assert mine[0]["delta"] == {"role": "assistant", "content": ""}
            assert "".join(item["delta"].get("content", "") for item in mine) == choice["message"]["content"]
            assert [item["finish_reason"] for item in mine] == [None] * (len(mine) - 1) + [choice["finish_reason"]]
            if choice["logprobs"]:
                marks = [mark for item in mine for mark in item["logprobs"]["content"]]
                assert marks == choice["logprobs"]["content"]
                assert all(len(mark["top_logprobs"]) == 2 for mark in marks)
                assert all(mark["logprob"] == mark["top_logprobs"][0]["logprob"] for mark in marks)


def test_a_best_of_n_gives_the_answer_that_is_chosen(ask: Any, models: Path) -> None:
    model, tokenizer = read_instructed(models / "align/best")
    chooser = chooser_of(models / "align/best", tokenizer, None, None)
    wanted = chosen_answer(model, TEMPLATE, asked("say cat"), SamplingConfig(max_tokens=6), chooser)
    assert content(ask(model="best", seed=0)) == [wanted]
    pieces = ask(model="best", seed=0, stream=True)
    assert "".join(piece["choices"][0]["delta"].get("content", "") for piece in pieces) == wanted
    assert "whole answers" in ask(400, model="best", logprobs=True)["error"]["message"]


def test_bias_and_penalties_are_heeded(ask: Any) -> None:
    plain = ask(logprobs=True)["choices"][0]["logprobs"]["content"][0]["token"]
    token = TOKENIZER.encode(plain)[0]
    assert content(ask(logit_bias={str(token): -100}))[0].split()[:1] != [plain]
    texts = [content(ask(frequency_penalty=value, logit_bias={"3": -100}))[0].split() for value in (-2, 2)]
    assert len(set(texts[0])) < len(set(texts[1]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "gpt"}, "/v1/completions"),
        ({"messages": []}, "no user turn"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages.0.role"),
        ({"messages": [*SAY, {"role": "assistant", "content": "cat"}]}, "last turn"),
        ({"messages": [*SAY, *SAY]}, "two user turns"),
        ({"messages": [{"role": "user", "content": "say " * 30}]}, "no room"),
        ({"messages": [{"role": "user", "content": "x" * 100_001}]}, "100,001"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]}, "messages.0.content"),
        ({"tools": [{"type": "function"}]}, "tools"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"reasoning_effort": "low"}, "reasoning_effort: unknown option"),
        ({"max_completion_tokens": 5}, "two names"),
        ({"top_logprobs": 2}, "logprobs: true"),
        ({"logit_bias": {str(TOKENIZER.vocab_size): 1}}, "logit_bias"),
        ({"stop": ["a"] * 5, "stream": True}, "stop"),
    ],
)
def test_what_is_not_offered_is_refused(ask: Any, options: dict[str, Any], message: str) -> None:
    assert message in ask(400, **options)["error"]["message"]


def test_null_and_what_changes_nothing_is_accepted(ask: Any) -> None:
    ignored = {"user": "me", "metadata": {}, "store": True, "service_tier": "auto", "parallel_tool_calls": False}
    nothing = ("max_completion_tokens", "tools", "tool_choice", "response_format", "logprobs", "top_logprobs", "stop")
    assert content(ask(**ignored, **dict.fromkeys(nothing))) == content(ask())
    assert ask(404, model="none")["error"]["code"] == "model_not_found"


def test_parity_with_openai_s_own_client(shelf: Shelf, ask: Any) -> None:
    openai = pytest.importorskip("openai", reason="pip install openai")
    for address in running(shelf):
        client = openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0)
        options: dict[str, Any] = {"model": "sft", "messages": SAY, "max_completion_tokens": 6, "temperature": 0}
        whole = client.chat.completions.create(**options)
        assert [whole.choices[0].message.content] == content(ask())
        pieces = list(client.chat.completions.create(**options, stream=True))
        assert "".join(piece.choices[0].delta.content or "" for piece in pieces) == whole.choices[0].message.content
        turns = [*SAY, whole.choices[0].message, {"role": "user", "content": "not"}]
        assert client.chat.completions.create(**options | {"messages": turns}).choices[0].message.content is not None
