"""lm-evaluation-harness's `local-completions` asks any rung: its log-likelihoods are those of `langladder score`."""

import math

import pytest

from langladder.answers.score import score_sentences
from langladder.faces.http.shelf import Shelf
from tests.faces.http.conftest import LINES, running

instances = pytest.importorskip("lm_eval.api.instance", reason="pip install 'lm-eval[api]'")
api = pytest.importorskip("lm_eval.models.openai_completions", reason="pip install 'lm-eval[api]'")
TEXTS = [*sorted(set(LINES)), "a king"]


def requests(kind: str, *arguments: tuple[str, ...]) -> list:
    return [instances.Instance(kind, {}, argument, number) for number, argument in enumerate(arguments)]


@pytest.mark.parametrize("name", ["kneser_ney", "gpt"])
def test_parity_with_score_of_every_text_and_continuation(name: str, shelf) -> None:
    rung = shelf.language_model(name)
    scored = score_sentences(rung, TEXTS)
    wanted = {item["sentence"]: [-math.log(2) * token["bits"] for token in item["tokens"][:-1]] for item in scored}
    for address in running(Shelf({name: shelf.folders[name]})):
        client = api.LocalCompletionsAPI(model=name, base_url=f"{address}/v1/completions", max_retries=1)
        assert client.tokenizer_backend == "remote"
        whole = client.loglikelihood_rolling(requests("loglikelihood_rolling", *((text,) for text in TEXTS)))
        assert whole == pytest.approx([sum(wanted[text]) for text in TEXTS], abs=1e-4)
        pairs = [("the king", " sat"), ("", "the cat sat"), ("apple and pear", " salad")]
        result = client.loglikelihood(requests("loglikelihood", *pairs))
        for (context, text), (value, greedy) in zip(pairs, result, strict=True):
            begun = len(rung.tokenizer.encode(context))
            assert value == pytest.approx(sum(wanted[context + text][begun:]), abs=1e-4)
            assert isinstance(greedy, bool)
        assert name != "kneser_ney" or result[2][1]  # no line goes on otherwise
