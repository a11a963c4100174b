"""Captions evaluated with microworld's engine: does the line describe the scene, and which facts does it tell?

right      the caption is one of the lines that describe the scene
facts      share of the scene's facts (who, what, to whom, where, …) that the engine reads in the caption
BLEU       against all lines that describe the scene
"""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, ClassVar

from pydantic import Field

from langladder.corpora.scenes import Described, recovered, sentences
from langladder.data.captioning import SceneCodes
from langladder.decoding.beam_search import BeamConfig
from langladder.decoding.translate import translate
from langladder.evaluation.bleu import BleuConfig, score_translations
from langladder.evaluation.page import LOGGED, Excluded, Measured, Metric, Metrics, Page, parameter_count
from langladder.models.translation.captioner import Captioner

EXAMPLES = 8


class CaptionScores(Measured):
    """right: share of the captions that describe their scene; facts: share of the facts that are told; bleu: 0 to 100,
    against all lines that describe the scene."""

    right: Annotated[
        float,
        Metric("right", "share of the captions that describe their scene", unit="share", better="higher", brief=True),
    ]
    facts: Annotated[
        float,
        Metric(
            "facts",
            "share of the scene's facts that are read in the caption",
            unit="share",
            better="higher",
        ),
    ]
    bleu: Annotated[
        float,
        Metric("BLEU", "against all lines that describe the scene", digits=1, better="higher"),
    ]


class CaptionSearches(Measured):
    """The scores of each search, and the number of scenes."""

    sentences: Annotated[int, LOGGED]
    greedy: Annotated[CaptionScores, Metrics("greedy_")]
    beam: Annotated[CaptionScores, Metrics("beam_")]


class QuestionRecall(Measured):
    """asked: scenes that answer the question; said: share of them whose caption says the answer (beam search)."""

    asked: int
    said: float


class Caption(Measured):
    """A scene with its caption, and every correct sentence."""

    facts: list[str]
    output: str
    allowed: list[str]
    right: bool


class CaptionPage(Page):
    """The page of one captioner. by_question: in the order of the sentence."""

    trained_on = "tokens"
    headlines = ("beam_right",)
    detail: ClassVar[Excluded] = {"examples": True}

    parameters: Annotated[int, parameter_count("weights of the model", logged=False)]
    scores: Annotated[CaptionSearches, Metrics()]
    by_question: dict[str, QuestionRecall]
    examples: list[Caption] = Field(default_factory=list)


def evaluate_captions(
    name: str, model: Captioner, codes: SceneCodes, test: Sequence[Described], beam: BeamConfig
) -> CaptionPage:
    """Caption test scenes, greedily and by beam search; deterministic.

    Args:
        name: of the rung.
    """
    sources = [codes.source(example.scene) for example in test]
    allowed = [sentences(example.scene) for example in test]
    captions = {
        search: [codes.sentence(hypotheses[0].tokens) for hypotheses in translate(model, sources, config)]
        for search, config in (("greedy", beam.model_copy(update={"width": 1})), ("beam", beam))
    }
    recalled = {
        search: [recovered(caption.scene, text.split()) for caption, text in zip(test, texts, strict=True)]
        for search, texts in captions.items()
    }
    scores = {search: _scores(texts, allowed, recalled[search]) for search, texts in captions.items()}
    return CaptionPage(
        name=name,
        approach=model.approach,
        parameters=model.number_of_parameters(),
        scores=CaptionSearches(sentences=len(test), **scores),
        by_question=_by_question(recalled["beam"]),
        examples=_examples(test, captions["beam"], allowed),
    )


def _scores(captions: list[str], allowed: list[list[str]], recalled: list[dict[str, bool]]) -> CaptionScores:
    most = max(map(len, allowed))  # sacreBLEU needs equally many references for each: repeats change nothing
    references = [[choices[i % len(choices)] for i in range(most)] for choices in allowed]
    facts = [is_said for answers in recalled for is_said in answers.values()]
    return CaptionScores(
        right=sum(text in choices for text, choices in zip(captions, allowed, strict=True)) / len(captions),
        facts=sum(facts) / len(facts),
        bleu=score_translations(captions, references, BleuConfig(bootstrap=0, tokenize="none")).bleu,
    )


def _by_question(recalled: list[dict[str, bool]]) -> dict[str, QuestionRecall]:
    longest_first = sorted(recalled, key=len, reverse=True)  # so that the questions are in the order of the sentence
    scenes = Counter(question for answers in longest_first for question in answers)
    correct = Counter(question for answers in recalled for question, answer in answers.items() if answer)
    return {name: QuestionRecall(asked=scenes[name], said=correct[name] / scenes[name]) for name in scenes}


def _examples(test: Sequence[Described], captions: list[str], allowed: list[list[str]]) -> list[Caption]:
    """The first wrong captions, up to half, then the first right ones."""
    wrong = [i for i, text in enumerate(captions) if text not in allowed[i]]
    right = [i for i, text in enumerate(captions) if text in allowed[i]]
    chosen = wrong[: EXAMPLES // 2]
    chosen += right[: EXAMPLES - len(chosen)]
    return [
        Caption(facts=test[i].scene.facts(), output=captions[i], allowed=allowed[i], right=captions[i] in allowed[i])
        for i in sorted(chosen)
    ]
