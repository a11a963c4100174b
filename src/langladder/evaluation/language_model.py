"""All that is measured and shown of one language model: its scores on the test text, and what it writes."""

from collections.abc import Mapping, Sequence
from typing import Any

from langladder.decoding.prompts import draw_prompts
from langladder.decoding.sampling import SamplingConfig, complete
from langladder.evaluation.language_model_page import LanguageModelPage, Sample
from langladder.evaluation.page import Work
from langladder.evaluation.perplexity import score
from langladder.evaluation.word_vectors_page import WordVectorsPage
from langladder.ground.progress import tracked
from langladder.models.language.language_model import LanguageModel
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.tokenizers import Tokenizer
from langladder.text.words.segmentation import EXTRAS, splitter_of


def evaluate_language_model(
    model: LanguageModel,
    tokenizer: Tokenizer,
    test: TokenStream,
    sizes: Mapping[str, Any],
    *,
    name: str,
    prompts: Sequence[str] | int,
    sampling: SamplingConfig,
    vectors: WordVectorsPage | None = None,
    work: Work | None = None,
) -> LanguageModelPage:
    """Score the test text; continue some prompts.

    Args:
        sizes: of the test text: words, characters, bytes and, where known, log_prob; see `perplexity.score`.
        name: of the rung.
        prompts: what to continue, or how many beginnings of test sentences are drawn for it.
        vectors: the page of its input embedding, where it has one.
        work: what it takes, where it is a network.
    """
    scores = score(model, test, **sizes)
    if isinstance(prompts, int):
        segmenter = sizes.get("word_unit")
        prompts = draw_prompts(test, tokenizer, prompts, splitter_of(segmenter) if segmenter in EXTRAS else None)
    begun = tracked(prompts, "sampling", unit="prompts")
    return LanguageModelPage(
        name=name,
        approach=model.approach,
        parameters=model.number_of_parameters(),
        work=work,
        scores=scores,
        samples=[Sample(prompt=prompt, text=complete(model, tokenizer, prompt, sampling)) for prompt in begun],
        vectors=vectors,
    )
