"""Encoders: they read a text in both directions and fill its gaps; evaluated separately from causal models.

Some learn from another encoder, their teacher.
"""

from pathlib import Path
from typing import TYPE_CHECKING, cast

from langladder.evaluation.page import Page
from langladder.families.family import Evaluated, Family, Make, Trained, Values, base_of, copies_of, validated
from langladder.families.lm import TOKENIZER, TOKENS, streams
from langladder.ground.schema import locate

TEST = Path("data/clean/text/test")


if TYPE_CHECKING:
    from collections.abc import Callable

    from langladder.families.job import Job
    from langladder.families.rungs import EncoderRung
    from langladder.models.encoders.bert import BERT


class EncoderFamily(Family["EncoderRung"]):
    """See `Family`."""

    name = "encoder"
    listed = "encoders"
    title = "Encoders"
    guide = "transfer.md"
    experiment = "encoders"
    report_module = "langladder.faces.report.language_models"
    position = 12
    default = "bert_mini"
    reads = ("data/tokens/text",)
    tokens = "data/tokens/text"
    model = "langladder.models.encoders.encoder.Encoder"
    function = "langladder.faces.mlflow.functions.EncoderFunction"
    asks = ("fill",)
    in_python = True
    loading = """from pathlib import Path

from langladder.decoding.fill import fill
from langladder.models.encoders.encoder import Encoder
from langladder.text.tokenize.tokenizers import Tokenizer

model = Encoder.load(Path("{folder}"))
tokenizer = Tokenizer.load(Path("{folder}/tokenizer.json"))
fill(model, tokenizer, "the <mask> sleeps")  # the likeliest words of each gap
model.hidden(tokens, segments)  # (B, T) ids, (B, T) 0 or 1 → states of every layer, for heads on top"""
    limits = (
        "The model fills gaps; it does not score or write texts. It fills them with what its training text says, "
        "including its prejudices."
    )

    def rung(self) -> "type[EncoderRung]":
        """Its pre-training, and the size of its evaluation."""
        from langladder.families.rungs import EncoderRung, EncoderTransfer

        return EncoderTransfer if self.bases else EncoderRung

    def maker(self, value: Values) -> str | None:
        """That of its class; with a teacher the same for all."""
        return "langladder.tasks.distillation.make_encoder" if self.bases else super().maker(value)

    def base_problem(self, value: Values, base: Values) -> str | None:
        """A rung has a teacher, which reads rows as long as its own."""
        training, context = value["training"], locate(base["_target_"]).Config.model_validate(base["model"]).context
        if not training.get("distil"):
            return "training.distil: missing; such a rung learns from its base"
        if training["sequence_length"] > context:
            return f"training.sequence_length={training['sequence_length']} exceeds its context, {context}"
        return None

    def also_given(self, value: Values, title: "Callable[[str], str]") -> str:
        """See `Family.also_given`."""
        return f"teacher: {title(value['base'])}" if self.bases else super().also_given(value, title)

    def page(self) -> type[Page]:
        """`EncoderPage`."""
        from langladder.evaluation.encoder import EncoderPage

        return EncoderPage

    def training_inputs(self, rung: "EncoderRung") -> dict[str, Path]:
        """The encoded text and its tokenizer."""
        return {"tokens": TOKENS}

    def train(self, rung: "EncoderRung", job: "Job", make: Make, root: Path = Path()) -> Trained:
        """Train on text with gaps, and from the teacher if it has one.

        Args:
            root: the folder that holds data/.
        """
        import torch

        from langladder.text.tokenize.tokenizers import Tokenizer
        from langladder.text.words.segmentation import CONVENTIONS

        torch.manual_seed(job.seed)
        tokenizer = Tokenizer.load(root / TOKENIZER)
        model = locate(rung.target)(rung.model, tokenizer.full_vocab_size)
        teacher = {"base": root / base} if (base := base_of(rung)) else {}
        result = make(model, tokenizer, *streams(root), settings=rung, **teacher)
        beside = copies_of(root / TOKENIZER, root / TOKENS / CONVENTIONS)
        return Trained(model, result, *validated(model, result), beside)

    def evaluation_inputs(self, rung: "EncoderRung", job: "Job") -> dict[str, Path]:
        """The test text, encoded and as text."""
        return {"test": TOKENS / "test.arrow", "text": TEST}

    def evaluate(self, rung: "EncoderRung", job: "Job", folder: Path) -> Evaluated:
        """Fill gaps in the test text; measure the distance from the true distribution if it is known."""
        from langladder.evaluation.encoder import evaluate_encoder
        from langladder.evaluation.work import work_of
        from langladder.models.encoders.encoder import Encoder
        from langladder.text.storage.shards import TEXT
        from langladder.text.storage.tables import read_batches
        from langladder.text.storage.token_streams import TokenStream
        from langladder.text.tokenize.tokenizers import Tokenizer
        from langladder.text.words.segmentation import conventions_of

        model = cast("BERT", Encoder.load(folder))  # the only kind of encoder
        training = rung.training
        rows = [row for batch in read_batches(TEST, TEXT, 8192) for row in batch.to_pylist()]
        page = evaluate_encoder(
            model,
            Tokenizer.load(folder / "tokenizer.json"),
            TokenStream.open(TOKENS / "test.arrow"),
            [row["text"] for row in rows],
            [row["log_prob"] for row in rows],
            name=rung.name,
            length=training.sequence_length,
            conventions=conventions_of(TOKENS),
            most_lines=training.most_lines,
            settings=rung.judged,
            work=work_of(model, training.optimizer, rows=training.batch_size, length=training.sequence_length),
        )
        truth = page.truth
        above = "" if truth is None else f", hidden words {truth.expected_above_percent:.1f} % above the truth"
        return Evaluated(page, f"{page.scores.accuracy:.1%} of the hidden tokens{above}")


FAMILY = EncoderFamily()
TRANSFER = FAMILY.from_base(
    name="encoder_transfer",
    listed="encoder_transfers",
    title="Encoders that learned from others",
    position=13,
    default="bert_distilled",
    bases=("encoder",),
)
