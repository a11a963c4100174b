"""Language models, word vectors and encoders as python functions: what a text is worth, means, and lacks."""

from pathlib import Path
from typing import Any, ClassVar, Self

from langladder.answers.loading import LoadedEncoder, LoadedModel, read_encoder, read_model
from langladder.decoding.fill import fill
from langladder.decoding.sampling import SamplingConfig, generate_batch
from langladder.embeddings.base import WordVectors
from langladder.faces.cli.score import score_sentences
from langladder.faces.http.embeddings import text_vector
from langladder.faces.mlflow.kind import Column, Kind, Rows
from langladder.formats.vector_files import read_vectors
from langladder.ground.artefacts import read_json
from langladder.ground.schema import checked
from langladder.text.tokenize.specials import BOS

TEXT = "the old king sleeps ."


def sampling(asked: dict[str, Any]) -> SamplingConfig:
    """How tokens are drawn: temperature 0 is greedy; 0 of top_k, and 1 of top_p, bound nothing.

    Raises:
        InputError: a number that is not allowed.
    """
    given = {"strategy": "sample" if asked["temperature"] else "greedy", **asked}
    given |= {"temperature": asked["temperature"] or 1.0}
    given |= {name: None for name, none in (("top_k", 0), ("top_p", 1.0)) if asked.get(name) == none}
    return checked(SamplingConfig, given, "params")


class Continuing(Kind):
    """A language model: how surprising a text is, its end included, and how it goes on where tokens are asked for."""

    reads = (Column("text"),)
    gives = (Column("bits", "double", required=False), Column("tokens", "long"), Column("continuation"))
    asks: ClassVar[dict[str, Any]] = {"max_tokens": 0, "temperature": 1.0, "top_k": 0, "top_p": 1.0, "seed": 0}

    def __init__(self, loaded: LoadedModel) -> None:
        self.loaded = loaded

    @classmethod
    def load(cls, folder: Path) -> Self:
        """See `Kind.load`."""
        return cls(read_model(folder))

    @classmethod
    def example(cls, folder: Path) -> dict[str, Any]:
        """See `Kind.example`."""
        del folder
        return {"text": TEXT}

    def answer(self, rows: Rows, asked: dict[str, Any]) -> Rows:
        """See `Kind.answer`; bits of what the model holds for impossible are None."""
        config, (_, model, tokenizer, _) = sampling(asked), self.loaded
        texts = [row["text"] for row in rows]
        begun = [ids.tolist() for ids in tokenizer.encode_lines(texts)]
        new = generate_batch(model, [[BOS, *ids] for ids in begun], config)
        found = []
        for text, ids, more in zip(texts, begun, new, strict=True):
            (scored,) = score_sentences(self.loaded, [text])
            continuation = tokenizer.decode(ids + more).removeprefix(tokenizer.decode(ids))
            found.append({"bits": scored["bits"], "tokens": len(scored["tokens"]), "continuation": continuation})
        return found


class Vectors(Kind):
    """Word vectors: the vector of a text, the mean of its words'; of a word also its neighbours."""

    reads = (Column("text"),)
    gives = (Column("vector", "double", 1), Column("neighbours", "string", 1), Column("cosines", "double", 1))
    asks: ClassVar[dict[str, Any]] = {"neighbours": 10}

    def __init__(self, vectors: WordVectors) -> None:
        self.vectors = vectors

    @classmethod
    def load(cls, folder: Path) -> Self:
        """See `Kind.load`."""
        return cls(read_vectors(folder))

    @classmethod
    def example(cls, folder: Path) -> dict[str, Any]:
        """See `Kind.example`."""
        return {"text": str(read_json(folder / "words.json")["words"][0])}

    def answer(self, rows: Rows, asked: dict[str, Any]) -> Rows:
        """See `Kind.answer`."""
        found = []
        for row in rows:
            text, count = self.vectors.spelled(row["text"]), max(0, asked["neighbours"])
            near = self.vectors.nearest(text, count) if count and text in self.vectors else []
            answer = {"vector": text_vector(self.vectors, text).astype("<f8").tolist()}
            found.append(
                answer | {"neighbours": [word for word, _ in near], "cosines": [float(one) for _, one in near]}
            )
        return found


class Filling(Kind):
    """An encoder: the likeliest tokens for each `<mask>` of a text."""

    reads = (Column("text"),)
    gives = (Column("fillings", "string", 2), Column("probabilities", "double", 2))
    asks: ClassVar[dict[str, Any]] = {"best": 5}

    def __init__(self, loaded: LoadedEncoder) -> None:
        self.loaded = loaded

    @classmethod
    def load(cls, folder: Path) -> Self:
        """See `Kind.load`."""
        return cls(read_encoder(folder))

    @classmethod
    def example(cls, folder: Path) -> dict[str, Any]:
        """See `Kind.example`."""
        del folder
        return {"text": "the old <mask> sleeps ."}

    def answer(self, rows: Rows, asked: dict[str, Any]) -> Rows:
        """See `Kind.answer`."""
        gaps = [fill(*self.loaded, row["text"], best=max(1, asked["best"])) for row in rows]
        return [
            {
                "fillings": [[one.text for one in gap] for gap in found],
                "probabilities": [[one.probability for one in gap] for gap in found],
            }
            for found in gaps
        ]
