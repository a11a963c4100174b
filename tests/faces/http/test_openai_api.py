"""OpenAI's completions, models and embeddings, asked over HTTP."""

import base64
import json
import math
import shutil
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection

import numpy as np
import pytest
import torch
from starlette.testclient import TestClient

from langladder.answers.generate import Drawn, distributions, stream
from langladder.answers.score import score_sentences
from langladder.decoding.sampling import SamplingConfig, generate_batch
from langladder.faces.http import completions, guard
from langladder.faces.http.api import create
from langladder.faces.http.guard import MOST_BYTES
from langladder.faces.http.shelf import Shelf, UnknownModelError
from langladder.ground.errors import InputError
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig
from langladder.text.words.normalisation import Normalisation
from tests.faces.http.conftest import LINES

MODELS = ("kneser_ney", "gpt")


def json_events(events: str) -> list[dict]:
    """The JSON of server-sent events; the last says that they are over."""
    *lines, last = [line.removeprefix("data: ") for line in events.split("\n\n") if line]
    assert last == "[DONE]"
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("name", MODELS)
def test_a_stream_draws_what_a_batch_draws(shelf, name) -> None:
    rung = shelf.language_model(name)
    prefix = [BOS, *rung.tokenizer.encode("the king").tolist()]
    for config in (SamplingConfig(seed=3, max_tokens=9), SamplingConfig(strategy="greedy", max_tokens=9, top_k=3)):
        rows = generate_batch(rung.model, [prefix] * 3, config)
        for row, wanted in enumerate(rows):
            drawn = [item.token for item in stream(rung.model, prefix, config, row=row)]
            assert (drawn[:-1] if drawn[-1] == EOS else drawn) == wanted


@pytest.mark.parametrize("name", MODELS)
def test_the_prompt_is_scored_as_by_the_one_scorer(ask, shelf, name) -> None:
    sentence = "the cat and the king"
    body = {"model": name, "prompt": sentence, "max_tokens": 0, "echo": True, "logprobs": 2}
    status, answer = ask("/v1/completions", body)
    assert status == 200
    (choice,) = answer["choices"]
    rung = shelf.language_model(name)
    (wanted,) = score_sentences(rung, [sentence])
    marks = choice["logprobs"]
    assert [token["token"] for token in wanted["tokens"][:-1]] == [token.strip() for token in marks["tokens"]]
    bits = [-value / math.log(2) for value in marks["token_logprobs"]]
    assert bits == pytest.approx([token["bits"] for token in wanted["tokens"][:-1]], abs=1e-4)
    ids = [BOS, *rung.tokenizer.encode(sentence).tolist()]
    for top, others in zip(marks["top_logprobs"], distributions(rung.model, ids), strict=True):
        assert max(top.values()) == pytest.approx(float(others.max()), abs=1e-5)
        assert len(top) <= 2
    assert choice["text"] == sentence
    assert choice["finish_reason"] == "length"
    assert marks["text_offset"][0] == 0
    assert answer["usage"] == {"prompt_tokens": len(ids) - 1, "completion_tokens": 0, "total_tokens": len(ids) - 1}


def test_ids_are_prompts_too_and_several_prompts_stand_in_order(ask, shelf) -> None:
    rung = shelf.language_model("kneser_ney")
    ids = [rung.tokenizer.encode(text).tolist() for text in ("the king", "a pair")]
    by_ids = ask("/v1/completions", {"model": "kneser_ney", "prompt": ids, "n": 2, "seed": 5, "max_tokens": 5})[1]
    texts = {"model": "kneser_ney", "prompt": ["the king", "a pair"], "n": 2, "seed": 5, "max_tokens": 5}
    by_text = ask("/v1/completions", texts)[1]
    assert by_ids["choices"] == by_text["choices"]
    assert [choice["index"] for choice in by_ids["choices"]] == [0, 1, 2, 3]


def test_what_is_streamed_is_what_is_answered_at_once(ask) -> None:
    for more in ({}, {"echo": True, "logprobs": 1}, {"stop": [" s"]}, {"n": 2}):
        body = {"model": "gpt", "prompt": "the king", "max_tokens": 12, "seed": 2} | more
        whole = ask("/v1/completions", body)[1]["choices"]
        pieces = [event["choices"][0] for event in json_events(ask("/v1/completions", body | {"stream": True})[1])]
        for choice in whole:
            mine = [piece for piece in pieces if piece["index"] == choice["index"]]
            assert "".join(piece["text"] for piece in mine) == choice["text"]
            assert mine[-1]["finish_reason"] == choice["finish_reason"]
            if choice["logprobs"]:
                tokens = [token for piece in mine for token in piece["logprobs"]["tokens"]]
                assert tokens == choice["logprobs"]["tokens"]


def test_a_stop_ends_the_text_before_it(ask) -> None:
    free = {"model": "kneser_ney", "prompt": "the", "temperature": 0, "max_tokens": 8}
    text = ask("/v1/completions", free)[1]["choices"][0]["text"]
    stop = text.split()[-1]
    cut = ask("/v1/completions", free | {"stop": stop})[1]["choices"][0]
    assert cut["text"] == text[: text.index(stop)]
    assert cut["finish_reason"] == "stop"


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"model": "claude"}, 404, "kneser_ney, gpt"),
        ({"model": "broken"}, 400, "broken"),
        ({"model": "gpt", "max_tokens": -1}, 400, "max_tokens"),
        ({"model": "gpt", "max_tokens": 10**9}, 400, "max_tokens"),
        ({"model": "gpt", "prompt": [10**6]}, 400, "id 1000000"),
        ({"model": "gpt", "prompt": [-1]}, 400, "prompt"),
        ({"model": "gpt", "prompt": []}, 400, "0 prompts"),
        ({"model": "gpt", "prompt": "x" * 100_001}, 400, "100,001"),
        ({"model": "gpt", "suffix": "."}, 400, "suffix"),
        ({"model": "gpt", "best_of": 5}, 400, "best_of"),
        ({"model": "gpt", "stop": ["a"] * 5}, 400, "stop"),
        ({"model": "gpt", "stop": ["a"] * 5, "stream": True}, 400, "stop"),
        ({"prompt": "x"}, 400, "model: Field required"),
        ({"model": None}, 400, "model: Field required"),
        ({"model": "gpt", "min_p": 0.1}, 400, "min_p: unknown option"),
        ({"model": "gpt", "min_p": None}, 400, "min_p: unknown option"),
        ({"model": "gpt", "tools": []}, 400, "tools: unknown option"),
        ({"model": "gpt", "max_tokens": "5"}, 400, "max_tokens"),
        ({"model": "gpt", "logit_bias": {"5": 101}}, 400, "logit_bias.5"),
        ({"model": "gpt", "logit_bias": {"the": 1}}, 400, "logit_bias.the"),
        ({"model": "gpt", "logit_bias": {"99999": 1}}, 400, "logit_bias: id 99999"),
        ({"model": "gpt", "logit_bias": {"99999": 1}, "stream": True}, 400, "logit_bias: id 99999"),
        ({"model": "gpt", "presence_penalty": 2.5}, 400, "presence_penalty"),
        ({"model": "gpt", "stream_options": {"include_usage": True}}, 400, "stream_options"),
        ({"model": "gpt", "prompt": "half \ud800"}, 400, "lone surrogate ('\\ud800')"),
        ({"model": "gpt", "\udfff": 1}, 400, "lone surrogate"),
        ("nonsense", 400, ""),
    ],
)
def test_bad_requests_get_openai_s_form_of_error(ask, body, status, message) -> None:
    result, answer = ask("/v1/completions", body)
    assert result == status
    assert message in answer["error"]["message"]
    assert answer["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize("body", [b"{", b"", b"\xff\xfe", '{"model": "gpt"}'.encode("utf-16-le"), b"[" * 10**5])
def test_bodies_that_are_no_json_are_refused_in_openai_s_form(shelf, body) -> None:
    with TestClient(create(shelf), raise_server_exceptions=False) as client:
        answer = client.post("/v1/completions", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "invalid_request_error"


def test_an_answer_ends_when_its_client_has_left(server, monkeypatch) -> None:
    drawn = []

    def endless(model, *_, **__):
        while True:
            drawn.append(Drawn(7, torch.zeros(model.vocab_size)))
            yield drawn[-1]
            time.sleep(0.01)

    monkeypatch.setattr(completions, "stream", endless)
    connection = HTTPConnection(server.removeprefix("http://"))
    body = json.dumps({"model": "gpt", "prompt": "the"})
    connection.request("POST", "/v1/completions", body, {"content-type": "application/json"})
    until = time.monotonic() + 30
    while len(drawn) < 3 and time.monotonic() < until:
        time.sleep(0.01)
    connection.close()
    before = 0
    while len(drawn) > before and time.monotonic() < until:
        before = len(drawn)
        time.sleep(0.5)
    assert len(drawn) == before > 2


def test_messages_hold_no_control_characters(ask) -> None:
    status, answer = ask("/v1/%1b[2J")
    assert status == 404 and "\\x1b[2J" in answer["error"]["message"]


def test_without_a_seed_each_request_draws_again(ask) -> None:
    """Of eight texts, because a single one is empty now and then."""
    request = {"model": "gpt", "max_tokens": 30, "n": 8}
    answers = [[choice["text"] for choice in ask("/v1/completions", request)[1]["choices"]] for _ in range(2)]
    assert answers[0] != answers[1]


def test_null_is_the_default(ask) -> None:
    options = ["prompt", "max_tokens", "temperature", "top_p", "top_k", "n", "stream", "stream_options", "logprobs"]
    options += ["echo", "stop", "best_of", "suffix", "user", "logit_bias", "presence_penalty", "frequency_penalty"]
    gpt = {"model": "gpt", "seed": 1}
    status, answer = ask("/v1/completions", gpt | dict.fromkeys(options))
    assert status == 200
    assert answer["choices"] == ask("/v1/completions", gpt)[1]["choices"]
    openais = {"reasoning_effort": None, "tools": None, "seed": -5, "top_k": 2**31}  # nulls of what is not offered
    assert ask("/v1/completions", {"model": "gpt", "prompt": "the"} | openais)[0] == 200
    assert ask("/v1/completions", {"model": "gpt", "prompt": "the", "seed": 2**63 - 1})[0] == 200
    for refused in ({"top_k": 2**70}, {"logit_bias": {"7": 5, "07": -5}}, {"tools": []}):
        assert ask("/v1/completions", {"model": "gpt", "prompt": "the"} | refused)[0] == 400
    nothing = {"encoding_format": None, "dimensions": None, "user": None}
    assert ask("/v1/embeddings", {"model": "svd", "input": "king"} | nothing)[0] == 200
    assert ask("/tokenize", {"model": "gpt", "prompt": "the", "add_special_tokens": False})[0] == 200


def test_bias_and_penalties_change_what_is_drawn(ask, shelf) -> None:
    greedy = {"model": "kneser_ney", "prompt": "the", "temperature": 0, "max_tokens": 6, "logprobs": 0}
    (plain,) = ask("/v1/completions", greedy)[1]["choices"]
    first = shelf.language_model("kneser_ney").tokenizer.encode(plain["logprobs"]["tokens"][0])
    assert len(first) == 1
    (other,) = ask("/v1/completions", greedy | {"logit_bias": {str(first[0]): -100}})[1]["choices"]
    assert other["logprobs"]["tokens"][0] != plain["logprobs"]["tokens"][0]
    gpt = {"model": "gpt", "prompt": "", "temperature": 0, "max_tokens": 12}
    for name in ("frequency_penalty", "presence_penalty"):
        texts = [ask("/v1/completions", gpt | {name: value})[1]["choices"][0]["text"].split() for value in (-2, 2)]
        repeated = [len(words) - len(set(words)) for words in texts]
        assert repeated[0] > repeated[1], name


def test_tokens_of_one_character_have_its_position(ask, shelf) -> None:
    text = "a😀字b"
    body = {"model": "kneser_ney", "prompt": text, "max_tokens": 0, "echo": True, "logprobs": 0}
    marks = ask("/v1/completions", body)[1]["choices"][0]["logprobs"]
    assert marks["text_offset"] == [0, 1, 1, 1, 1, 2, 2, 2, 3]
    for text, offsets in (("\ufffdb", [0, 0, 0, 1]), ("é é", [0, 0, 1, 2, 2])):
        offset = ask("/v1/completions", body | {"prompt": text})[1]["choices"][0]["logprobs"]["text_offset"]
        assert offset == offsets
    rung = shelf.language_model("kneser_ney")
    names = {rung.tokenizer.piece(token): token for token in range(rung.tokenizer.vocab_size)}
    ids = [names["\\xff"], names["b"], names["\\xf0"], names["b"]]
    offset = ask("/v1/completions", body | {"prompt": ids})[1]["choices"][0]["logprobs"]["text_offset"]
    assert offset == [0, 1, 2, 3]


def test_an_echo_is_the_prompt_as_it_was_sent(tmp_path, shelf) -> None:
    tokenizer = train_tokenizer(
        LINES, TokenizerConfig(kind="word", vocab_size=None), Normalisation(("NFKC", "lowercase"))
    )
    shutil.copytree(shelf.folders["gpt"], tmp_path / "gpt")
    tokenizer.save(tmp_path / "gpt" / "tokenizer.json")
    prompt = "The  ＫＩＮＧ and\tthe cat"
    body = {"model": "gpt", "prompt": prompt, "echo": True, "logprobs": 0, "seed": 1}
    with TestClient(create(Shelf({"gpt": tmp_path / "gpt"})), base_url="http://localhost") as client:
        for tokens in (0, 4):
            (result,) = client.post("/v1/completions", json=body | {"max_tokens": tokens}).json()["choices"]
            (plain,) = client.post(
                "/v1/completions",
                json={key: body[key] for key in ("model", "prompt", "seed")} | {"max_tokens": tokens},
            ).json()["choices"]
            assert result["text"].startswith(prompt) and result["text"][len(prompt) :].strip() == plain["text"].strip()
            marks = result["logprobs"]
            assert marks["tokens"][:5] == ["the", "king", "and", "the", "cat"]
            assert marks["text_offset"][:5] == [0, 3, 9, 13, 17]
            assert all(0 <= offset <= len(result["text"]) for offset in marks["text_offset"])


def test_the_prompt_s_tokens_count_once_for_all_choices(ask, shelf) -> None:
    rung = shelf.language_model("gpt")
    prompts = ["the king", "a pair of cats"]
    used = ask("/v1/completions", {"model": "gpt", "prompt": prompts, "max_tokens": 2, "n": 3, "seed": 2})[1]["usage"]
    assert used["prompt_tokens"] == sum(len(rung.tokenizer.encode(prompt)) for prompt in prompts)
    assert used["total_tokens"] == used["prompt_tokens"] + used["completion_tokens"]


def test_a_stream_ends_with_what_it_used_where_that_is_requested(ask) -> None:
    body = {"model": "gpt", "prompt": "the king", "max_tokens": 4, "n": 2, "seed": 2}
    more = {"stream": True, "stream_options": {"include_usage": True}}
    *events, last = json_events(ask("/v1/completions", body | more)[1])
    assert (last["choices"], last["usage"]) == ([], ask("/v1/completions", body)[1]["usage"])
    assert {event["usage"] for event in events} == {None}
    assert all("usage" not in event for event in json_events(ask("/v1/completions", body | {"stream": True})[1]))


def test_ids_are_embedded_as_their_text(ask, shelf) -> None:
    ids = shelf.language_model("gpt").tokenizer.encode("the king sat").tolist()
    body = {"model": "gpt", "input": "the king sat"}
    (wanted,) = ask("/v1/embeddings", body)[1]["data"]
    answer = ask("/v1/embeddings", body | {"input": ids})[1]
    assert answer["data"] == [wanted] and answer["usage"]["prompt_tokens"] == len(ids)
    rows = ask("/v1/embeddings", body | {"input": [ids, ids[:1]]})[1]["data"]
    assert rows[0] == wanted and rows[1]["embedding"] != wanted["embedding"]
    for wrong, message in ((body | {"input": [10**6]}, "id 1000000"), ({"model": "svd", "input": [1]}, "send text")):
        status, answer = ask("/v1/embeddings", wrong)
        assert (status, message in answer["error"]["message"]) == (400, True)


def test_the_description_says_what_is_answered_and_nothing_is_loaded_from_outside(ask) -> None:
    described = ask("/openapi.json")[1]
    for path in described["paths"].values():
        for operation in path.values():
            assert "4XX" in operation["responses"] and "422" not in operation["responses"]
    options = described["components"]["schemas"]["CompletionRequest"]["properties"]
    assert {"type": "null"} in options["max_tokens"]["anyOf"] and "anyOf" not in options["model"]
    assert ask("/docs")[0] == ask("/redoc")[0] == 404


def test_models_are_listed_by_name_and_requested_by_path(ask, shelf) -> None:
    listed = ask("/v1/models")[1]["data"]
    assert [model["id"] for model in listed] == ["kneser_ney", "gpt", "svd", "broken"]
    assert ask("/v1/models/gpt")[1]["id"] == "gpt"
    assert ask("/v1/models/none")[0] == 404
    for path, body, status in (("/v1/chat", None, 404), ("/v1/models", {}, 405)):
        result, answer = ask(path, body)
        assert (result, path in answer["error"]["message"]) == (status, True)
    assert shelf.find(str(shelf.folders["gpt"])) == shelf.folders["gpt"]
    with pytest.raises(UnknownModelError):
        shelf.find("../../etc")


def test_a_text_has_the_mean_of_its_words_vectors(ask) -> None:
    body = {"model": "svd", "input": ["king", "the king and the cat"]}
    first, second = ask("/v1/embeddings", body)[1]["data"]
    assert first["embedding"] == [1, 0]
    assert second["embedding"] == [0.5, 0.5]
    packed = ask("/v1/embeddings", body | {"encoding_format": "base64"})[1]["data"][1]["embedding"]
    assert np.frombuffer(base64.b64decode(packed), "<f4").tolist() == [0.5, 0.5]
    status, answer = ask("/v1/embeddings", {"model": "svd", "input": "quark"})
    assert (status, "quark" in answer["error"]["message"]) == (400, True)
    assert len(ask("/v1/embeddings", {"model": "gpt", "input": "the"})[1]["data"][0]["embedding"]) == 8


def test_other_hosts_and_large_bodies_are_refused(ask, server) -> None:
    assert ask("/v1/models", host="evil.example")[0] == 400
    assert ask("/v1/models", host="localhost")[0] == 200
    connection = HTTPConnection(server.removeprefix("http://"), timeout=10)
    connection.putrequest("POST", "/v1/completions")
    connection.putheader("content-length", str(5 * 2**20))  # refused before any of it is sent
    connection.endheaders()
    assert connection.getresponse().status == 413


def test_what_arrives_is_counted_whatever_the_headers_say(server) -> None:
    host, _, port = server.removeprefix("http://").partition(":")
    chunk = b"%x\r\n%b\r\n" % (2**16, b"x" * 2**16)
    with socket.create_connection((host, int(port)), timeout=10) as client:
        client.sendall(b"POST /v1/completions HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n")
        for _ in range(MOST_BYTES // 2**16 + 1):
            client.sendall(chunk)
        assert client.recv(100).startswith(b"HTTP/1.1 413")  # the last chunk has not been sent


@pytest.mark.parametrize("named", ["localhost", "foreign.example"])
@pytest.mark.parametrize("second", ["chunked", "identity, chunked", "gzip"])
def test_a_body_of_two_lengths_is_refused_and_the_connection_ends(server, second, named) -> None:
    host, _, port = server.removeprefix("http://").partition(":")
    lengths = f"content-length: 4\r\ntransfer-encoding: {second}\r\n\r\n"
    head = f"POST /v1/completions HTTP/1.1\r\nhost: {named}\r\n{lengths}"
    with socket.create_connection((host, int(port)), timeout=10) as client:
        client.sendall(head.encode() + b"0\r\n\r\nGET /v1/models HTTP/1.1\r\nhost: localhost\r\n\r\n")
        with client.makefile("rb") as file:
            answer = file.read()  # until the server ends it
    assert answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 501")) and answer.count(b"HTTP/1.1 ") == 1


def test_a_small_body_in_chunks_is_read(server) -> None:
    connection = HTTPConnection(server.removeprefix("http://"), timeout=10)
    pieces = [b'{"model": "gpt", ', b'"max_tokens": 1}']
    connection.request("POST", "/v1/completions", iter(pieces), {"content-type": "application/json"})
    answer = connection.getresponse()
    assert (answer.status, "choices" in json.load(answer)) == (200, True)


def test_a_body_that_is_too_slow_is_reported_and_the_connection_ends(server, monkeypatch) -> None:
    monkeypatch.setattr(guard, "SLOWEST", 0.2)
    host, _, port = server.removeprefix("http://").partition(":")
    for head in (b"content-length: 100\r\n\r\n{", b"transfer-encoding: chunked\r\n\r\n1\r\n{\r\n"):
        with socket.create_connection((host, int(port)), timeout=10) as client:
            client.sendall(b"POST /v1/completions HTTP/1.1\r\nhost: localhost\r\n" + head)
            with client.makefile("rb") as file:
                answer = file.read()  # until the server ends it
        assert answer.startswith(b"HTTP/1.1 408") and b"did not arrive" in answer


def test_fifty_requests_at_once_are_all_answered_alike(ask) -> None:
    body = {"model": "gpt", "prompt": "the king", "max_tokens": 4, "seed": 1}
    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda _: ask("/v1/completions", body), range(50)))
    assert {status for status, _ in answers} == {200}
    assert len({answer["choices"][0]["text"] for _, answer in answers}) == 1


def test_what_was_not_requested_longest_is_let_go(shelf) -> None:
    small = Shelf(dict(shelf.folders), memory=1)
    small.language_model("gpt")
    small.language_model("kneser_ney")
    assert [folder.endswith("kneser_ney") for folder in small.loaded] == [True]
    assert small.language_model("kneser_ney").model is small.language_model("kneser_ney").model
    with pytest.raises(InputError, match="no such folder"):
        Shelf.of([shelf.folders["gpt"] / "none"])
    twins = Shelf.of([shelf.folders["gpt"], shelf.folders["gpt"].parent.parent / "lm" / "gpt"])
    assert list(twins.folders) == [str(shelf.folders["gpt"])]


def test_parity_with_openai_s_own_client(server) -> None:
    openai = pytest.importorskip("openai", reason="pip install openai")
    client = openai.OpenAI(base_url=f"{server}/v1", api_key="none", max_retries=0)
    assert [model.id for model in client.models.list()][:2] == list(MODELS)
    body = {"model": "kneser_ney", "prompt": "the king", "max_tokens": 5, "seed": 4}
    whole = client.completions.create(**body, logprobs=1)
    pieces = list(client.completions.create(**body, stream=True))
    assert "".join(piece.choices[0].text for piece in pieces) == whole.choices[0].text
    assert len(whole.choices[0].logprobs.tokens) == whole.usage.completion_tokens
    assert client.embeddings.create(model="svd", input="cat").data[0].embedding == [0, 1]
    with pytest.raises(openai.NotFoundError):
        client.completions.create(model="none", prompt="x")


def test_an_empty_prompt_is_the_beginning_of_a_line(ask, shelf) -> None:
    rung = shelf.language_model("kneser_ney")
    wanted = rung.model.next_log_probs(torch.tensor([[BOS]]))[0].max()
    body = {"model": "kneser_ney", "prompt": "", "temperature": 0, "max_tokens": 1, "logprobs": 0}
    marks = ask("/v1/completions", body)[1]["choices"][0]["logprobs"]
    assert marks["token_logprobs"] == [pytest.approx(float(wanted), abs=1e-5)]


def test_an_end_that_is_drawn_is_marked_and_a_client_s_own_beginning_too(ask, shelf) -> None:
    rung = shelf.language_model("kneser_ney")
    ids = rung.tokenizer.encode("the king sat").tolist()
    body = {"model": "kneser_ney", "max_tokens": 1, "temperature": 0, "logprobs": 1, "echo": True}
    plain = ask("/v1/completions", body | {"prompt": ids})[1]["choices"][0]
    assert plain["text"] == "the king sat" and plain["finish_reason"] == "stop"
    marks = plain["logprobs"]
    assert len(marks["token_logprobs"]) == len(ids) + 1 and marks["tokens"][-1] == "<eos>"
    opened = ask("/v1/completions", body | {"prompt": [BOS, *ids]})[1]["choices"][0]["logprobs"]
    assert opened["token_logprobs"] == [None, *marks["token_logprobs"]]
    for value, likeliest in zip(marks["token_logprobs"], marks["top_logprobs"], strict=True):
        assert value <= max(likeliest.values())


def test_tokens_are_reported_to_clients_that_lack_the_tokenizer(shelf) -> None:
    rung, names = shelf.language_model("gpt"), {"gpt": shelf.folders["gpt"]}
    with TestClient(create(Shelf(names)), base_url="http://localhost") as client:
        assert client.get("/tokenizer_info").json()["bos_token"] == "<bos>"
        for text, ids in (("the king", rung.tokenizer.encode("the king").tolist()), ("<bos>", [BOS]), ("<eos>", [EOS])):
            assert client.post("/tokenize", json={"prompt": text}).json() == {"tokens": ids, "count": len(ids)}
        ids = rung.tokenizer.encode("the king").tolist()
        assert client.post("/detokenize", json={"tokens": ids}).json() == {"prompt": "the king"}
        assert (
            "not one of the model's" in client.post("/detokenize", json={"tokens": [10**6]}).json()["error"]["message"]
        )
    with TestClient(create(shelf), base_url="http://localhost") as client:
        message = client.post("/tokenize", json={"prompt": "x"}).json()["error"]["message"]
        assert "2 language models are served: kneser_ney, gpt" in message
        assert client.post("/tokenize", json={"prompt": "the king", "model": "gpt"}).json()["tokens"] == ids
