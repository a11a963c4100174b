"""A saved model in Python: `load` reads it with its tokenizer; it has the methods of its family.

The options of a method are those of its request (`langladder.answers.requests`), as on the command line and the
servers; `langladder.answers` does the computation.
"""

import inspect
import math
from collections.abc import Callable, Sequence
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from langladder.answers import requests
from langladder.answers.kinds import has_vectors, kind_of
from langladder.answers.loading import LoadedModel, LoadedTranslator, read_model
from langladder.faces.mlflow.functions import lies_in
from langladder.faces.mlflow.functions import load as load_function
from langladder.faces.python.results import (
    Answered,
    Answers,
    Classified,
    Embedded,
    Filled,
    Generated,
    Neighbours,
    Result,
    Said,
    Score,
    Tagged,
    Translated,
)
from langladder.families import families
from langladder.ground.errors import InputError
from langladder.ground.schema import Config, checked

if TYPE_CHECKING:
    from langladder.embeddings.base import WordVectors
    from langladder.text.tokenize.tokenizers import Tokenizer

NAMES = {name for family in families().values() for name in family.asks}

Method = Callable[..., Any]
R = TypeVar("R", bound=Result)
Several = list[str] | tuple[str, ...]
Texts = str | Several


def asks(
    request: type[Config] | None = None, *, without: Sequence[str] = (), **defaults: object
) -> Callable[[Method], Method]:
    """A method whose keyword arguments, in signature and help, are the fields of a request.

    It is called with the checked request as `request=`. For a model of another kind, the error lists its methods.

    Args:
        without: fields that the method does not have. defaults: those that differ from the request's.
    """
    fields = {} if request is None else {k: v for k, v in request.model_fields.items() if k not in without}
    own = {name: defaults.get(name, field.get_default(call_default_factory=True)) for name, field in fields.items()}

    def decorate(method: Method) -> Method:
        name = method.__name__

        @wraps(method)
        def call(self: "Model", *args: Any, **options: Any) -> Any:
            if name not in self.methods:
                raise InputError(f"{self.name}: {self.described} has no {name}(); it has {', '.join(self.methods)}")
            values = {key: options.pop(key) for key in [*options] if request is not None and key not in positional}
            if strange := sorted(values.keys() - own.keys()):
                raise InputError(f"{name}: {strange[0]!r} is not an option; options: {', '.join(own) or 'none'}")
            chosen = {} if request is None else {"request": checked(request, defaults | values, name)}
            return method(self, *args, **options, **chosen)

        signature = inspect.signature(method)
        positional = [parameter for parameter in signature.parameters if parameter not in ("self", "request")]
        kept = [signature.parameters[name] for name in ("self", *positional)]
        keyword = inspect.Parameter.KEYWORD_ONLY
        offered = [inspect.Parameter(key, keyword, default=value) for key, value in own.items()]
        call.__signature__ = signature.replace(parameters=[*kept, *offered])  # type: ignore[attr-defined]
        if own:
            lines = [f"    {key}: {field.description or 'as in the papers.'}" for key, field in fields.items()]
            call.__doc__ = f"{inspect.cleandoc(method.__doc__ or '')}\n\nOptions:\n" + "\n".join(lines)
        return call

    return decorate


class Model:
    """A saved model with everything that it needs; `load` and `train` return it.

    Attributes:
        kind: its family: lm, encoder, translator, classifier, tagger, embedding, …
        folder: its path.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = lies_in(folder)
        self._function = load_function(self.folder)
        self.kind = kind_of(self.folder) or ""

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.resolve().name

    @property
    def described(self) -> str:
        """Its family, for messages."""
        return f"a model of family {self.kind}"

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """The methods of this model."""
        asks = families()[self.kind].asks
        more = families()["embedding"].asks if has_vectors(self.folder) else ()
        return tuple(dict.fromkeys((*asks, *more, "predict")))

    def __dir__(self) -> list[str]:
        return sorted(({*super().__dir__()} - NAMES) | {*self.methods})

    def __repr__(self) -> str:
        return f"<Model {self.name} (family {self.kind}, {type(self.network).__name__}): {', '.join(self.methods)}>"

    @property
    def network(self) -> Any:
        """The model itself: a `torch.nn.Module`, a counted model, or `WordVectors`."""
        loaded = self._function.model
        if isinstance(loaded, tuple | LoadedTranslator):  # loaded together with its tokenizer
            return getattr(loaded, "model")  # noqa: B009 - every such tuple has one
        return loaded

    @property
    def tokenizer(self) -> "Tokenizer | None":
        """Its tokenizer; for a translator that of the source; None for models that read words or letters."""
        loaded = self._function.model
        loaded = getattr(loaded, "template", loaded)  # of what follows instructions
        tokenizer: Tokenizer | None = getattr(loaded, "tokenizer", None) or getattr(loaded, "source", None)
        return tokenizer

    @cached_property
    def vectors(self) -> "WordVectors":
        """The word vectors of an embedding, or the input embedding of a language model.

        Raises:
            InputError: it has none.
        """
        from langladder.formats.vector_files import read_vectors

        vectors: WordVectors = self._function.model if self.kind == "embedding" else read_vectors(self.folder)
        return vectors

    @cached_property
    def _language_model(self) -> LoadedModel:
        loaded = self._function.model
        return loaded if isinstance(loaded, LoadedModel) else read_model(self.folder)

    def predict(self, data: Any, **params: Any) -> Any:
        """Predict like MLflow's `pyfunc.load_model(…).predict(data, params)`, for any kind of model.

        Args:
            data: a data frame, a dictionary of columns, or a list of rows. params: those of this kind of model, if any.

        Returns:
            A data frame for a data frame, else a list of rows.

        >>> ll.load("models/tagger/hmm").predict([{"text": "the dog"}])[0]["tags"]
        ['D', 'N']
        """
        return self._function.predict(data, params)

    # ---- language models -----------------------------------------------------------------------------------------

    @overload
    def score(self, texts: str) -> Score: ...
    @overload
    def score(self, texts: Several) -> Answers[Score]: ...
    @asks()
    def score(self, texts: Texts) -> Score | Answers[Score]:
        """Score texts: surprisal −log₂ P in bits, of each token and in total, the end included.

        >>> model = ll.load("models/lm/kneser_ney")
        >>> model.score("the cat sleeps .").bits < model.score("sleeps the . cat").bits
        True
        >>> list(model.score(["the cat sleeps .", "the cat"]).to_frame().columns)
        ['text', 'bits', 'tokens', 'perplexity']
        """
        from langladder.answers.score import score_sentences

        def score(text: str) -> Score:
            (result,) = score_sentences(self._language_model, [text])
            bits = math.inf if result["bits"] is None else result["bits"]
            return Score(text, bits, result["tokens"])

        return _as_given(texts, [score(text) for text in _listed(texts)])

    @overload
    def generate(self, prompts: str, **options: Any) -> Generated: ...
    @overload
    def generate(self, prompts: Several, **options: Any) -> Answers[Generated]: ...
    @asks(requests.GenerateRequest, without=["samples"])
    def generate(self, prompts: Texts, *, request: requests.GenerateRequest) -> Generated | Answers[Generated]:
        """Continue texts until the end of the line or for `max_tokens`. A prompt given n times is sampled n times.

        >>> model = ll.load("models/lm/kneser_ney")
        >>> model.generate("the cat", greedy=True).text
        'the cat sleeps .'
        >>> len(model.generate(["the"] * 3, temperature=0.8, seed=7))
        3
        """
        from langladder.answers.generate import generate

        prompts_ = _listed(prompts)
        continuations = generate(
            self._language_model, prompts_, request.sampling(), draft=request.draft, lookahead=request.lookahead
        )
        return _as_given(
            prompts,
            [
                Generated(prompt, continuation.continuation, continuation.text)
                for prompt, continuation in zip(prompts_, continuations, strict=True)
            ],
        )

    @overload
    def chat(self, texts: str, **options: Any) -> Said: ...
    @overload
    def chat(self, texts: Several, **options: Any) -> Answers[Said]: ...
    @asks(requests.ChatRequest, without=["best_of", "judge", "forget"])
    def chat(self, texts: Texts, *, request: requests.ChatRequest) -> Said | Answers[Said]:
        """Answers of a model that follows instructions; a list of texts is the user's side of one dialogue."""
        from langladder.answers.chat import Conversation

        talk = Conversation(self._function.model, request.sampling(), system=request.system)
        return _as_given(texts, [Said(text, talk.say(text).text) for text in _listed(texts)])

    # ---- translators, encoders, readers --------------------------------------------------------------------------

    @overload
    def translate(self, texts: str, **options: Any) -> Translated: ...
    @overload
    def translate(self, texts: Several, **options: Any) -> Answers[Translated]: ...
    @asks(requests.TranslateRequest)
    def translate(self, texts: Texts, *, request: requests.TranslateRequest) -> Translated | Answers[Translated]:
        """Translate texts: the best translations of beam search, or sampled ones with `sample`.

        >>> model = ll.load("models/translator/attention")
        >>> found = model.translate("the cat sleeps .", n_best=2, max_length=5)
        >>> len(found.candidates), found.candidates[0].score >= found.candidates[1].score
        (2, True)
        """
        from langladder.answers.translate import translate

        lines = _listed(texts)
        translations = translate(self._function.model, lines, request.search(), attention=request.attention)
        best = [translation.candidates[0] if translation.candidates else None for translation in translations]
        return _as_given(
            texts,
            [
                Translated(line, first.text if first else "", first.score if first else None, translation.candidates)
                for line, first, translation in zip(lines, best, translations, strict=True)
            ],
        )

    @overload
    def fill(self, texts: str, **options: Any) -> Filled: ...
    @overload
    def fill(self, texts: Several, **options: Any) -> Answers[Filled]: ...
    @asks(requests.FillRequest)
    def fill(self, texts: Texts, *, request: requests.FillRequest) -> Filled | Answers[Filled]:
        """Fill each `<mask>` of texts with the likeliest tokens.

        >>> found = ll.load("models/encoder/bert_mini").fill("the <mask> sleeps .", best=3)
        >>> [len(gap) for gap in found.gaps]
        [3]
        """
        from langladder.answers.fill import fill

        return _as_given(texts, [Filled(text, fill(self._function.model, text, request)) for text in _listed(texts)])

    @overload
    def classify(self, texts: str, **options: Any) -> Classified: ...
    @overload
    def classify(self, texts: Several, **options: Any) -> Answers[Classified]: ...
    @asks(requests.ClassifyRequest, top=None)
    def classify(self, texts: Texts, *, request: requests.ClassifyRequest) -> Classified | Answers[Classified]:
        """Classify texts: labels with their probabilities; for pairs, separate the two texts with a tab.

        A multi-label classifier gives a text the labels of `given`, and `label` names them all.

        >>> found = ll.load("models/classifier/logistic").classify(["good .", "bad ."])
        >>> [one.label for one in found]
        ['yes', 'no']
        >>> list(found.to_frame().columns)
        ['text', 'label', 'probability', 'labels']
        """
        from langladder.answers.classify import BLANK, classify, example_of

        model, lines = self._function.model, _listed(texts)
        examples = [example_of(model, line) if line.strip() else BLANK for line in lines]
        results = classify(model, examples, request)
        return _as_given(
            texts,
            [
                Classified(line, *result.best(), dict(result.top), result)
                for line, result in zip(lines, results, strict=True)
            ],
        )

    @overload
    def tag(self, texts: str, **options: Any) -> Tagged: ...
    @overload
    def tag(self, texts: Several, **options: Any) -> Answers[Tagged]: ...
    @asks(requests.TagRequest, without=["explain"], explain=True)
    def tag(self, texts: Texts, *, request: requests.TagRequest) -> Tagged | Answers[Tagged]:
        """Tag each word of texts, with the probability of the tag given the whole text.

        >>> found = ll.load("models/tagger/hmm").tag("the dog")
        >>> list(zip(found.words, found.tags))
        [('the', 'D'), ('dog', 'N')]
        """
        from langladder.answers.tag import tag

        lines = _listed(texts)
        results = tag(self._function.model, lines, request)
        return _as_given(
            texts,
            [
                Tagged(line, result.words, result.tags, result.probabilities or [], result)
                for line, result in zip(lines, results, strict=True)
            ],
        )

    @asks(requests.AnswerRequest)
    def answer(self, question: str, paragraph: str, *, request: requests.AnswerRequest) -> Answered:
        """Answer a question about a paragraph, or choose one of the `options`.

        >>> ll.load("models/reader/sliding_window").answer("who ate the apple ?", "anna ate the apple .").text
        'anna'
        """
        from langladder.answers.answer import answer
        from langladder.text.labelled.questions import Question

        model, options = self._function.model, tuple(request.options)
        if bool(options) != model.chooses:
            wanted = "chooses among options; give two or more" if model.chooses else "finds a span; give no options"
            raise InputError(f"{self.name}: options: {list(options)}, but this reader {wanted}")
        (answers,) = answer(model, [Question(paragraph, question.strip(), (), options)], request)
        best = answers[0] if answers else None
        return Answered(question, best.text if best else "", best.probability if best else None, answers)

    # ---- word vectors --------------------------------------------------------------------------------------------

    @overload
    def neighbours(self, words: str, **options: Any) -> Neighbours: ...
    @overload
    def neighbours(self, words: Several, **options: Any) -> Answers[Neighbours]: ...
    @asks(requests.NeighboursRequest)
    def neighbours(self, words: Texts, *, request: requests.NeighboursRequest) -> Neighbours | Answers[Neighbours]:
        """The nearest neighbours of words; for a language model, by its input embedding.

        >>> ll.load("models/embedding/skipgram").neighbours("king", count=1).words
        ['queen']
        """
        from langladder.answers.words import nearest

        results = [(word, nearest(self.vectors, word, request.count, request.measure)) for word in _listed(words)]
        return _as_given(
            words,
            [
                Neighbours(word, [word["word"] for word in near], [word["score"] for word in near])
                for word, near in results
            ],
        )

    @overload
    def embed(self, texts: str) -> Embedded: ...
    @overload
    def embed(self, texts: Several) -> Answers[Embedded]: ...
    @asks()
    def embed(self, texts: Texts) -> Embedded | Answers[Embedded]:
        """The vectors of texts, each the mean of its words' vectors.

        >>> model = ll.load("models/embedding/skipgram")
        >>> model.embed("the king").vector.shape
        (2,)
        >>> model.embed(["king", "queen"]).to_frame().columns.tolist()
        ['text', 'd0', 'd1']
        """
        from langladder.answers.words import text_vector

        return _as_given(texts, [Embedded(text, text_vector(self.vectors, text)) for text in _listed(texts)])


def load(path: str | Path) -> Model:
    """Load a saved model with its tokenizer.

    Args:
        path: the folder of a model that the pipeline, `train` or `langladder import` wrote, or that MLflow downloaded.

    Raises:
        InputError: there is no model, or a damaged one.

    >>> ll.load("models/lm/kneser_ney")
    <Model kneser_ney (family lm, KneserNey): score, generate, predict>
    >>> ll.load("models/lm/kneser_ney").translate("the cat")
    Traceback (most recent call last):
      ...
    InputError: kneser_ney: a model of family lm has no translate(); it has score, generate, predict
    """
    return Model(Path(path))


def _listed(texts: Texts) -> list[str]:
    """The texts of a string or of strings.

    Raises:
        InputError: one of them is not a string.
    """
    if isinstance(texts, str):
        return [texts]
    try:
        results = list(texts)
    except TypeError as error:
        raise InputError(f"{texts!r:.60} is neither a text nor a list of texts") from error
    for number, text in enumerate(results):
        if not isinstance(text, str):
            raise InputError(f"text {number}: {text!r:.60} is not a string but of type {type(text).__name__}")
    return results


def _as_given(texts: Texts, results: list[R]) -> R | Answers[R]:
    """One answer for a string, `Answers` for several."""
    return results[0] if isinstance(texts, str) else Answers(results)
