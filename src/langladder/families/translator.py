"""Translators: P(y_t | y_1 … y_{t-1}, x), trained on pairs of sentences; evaluated by BLEU, chrF and TER.

Some start from another translator: they are trained longer, or by the quality of whole translations.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from langladder.evaluation.page import Page
from langladder.families.family import Evaluated, Family, Listed, Make, Trained, Values, copies_of, validated
from langladder.ground.schema import locate

if TYPE_CHECKING:
    from collections.abc import Callable

    from langladder.evaluation.predictions import Prediction
    from langladder.families.job import Job
    from langladder.families.rungs import TranslatorRung, TranslatorTransfer

TOKENS = Path("data/tokens/parallel")
TEST = Path("data/clean/parallel/test.parquet")


class TranslatorFamily(Family["TranslatorRung | TranslatorTransfer"]):
    """See `Family`."""

    name = "translator"
    listed = "translators"
    guide = "translation.md"
    title = "Translators"
    experiment = "translation"
    report_module = "langladder.faces.report.translators"
    position = 40
    default = "attention"
    reads = ("data/tokens/parallel",)
    side = "parallel"
    tokens = "data/tokens/parallel"
    model = "langladder.models.translation.translator.Translator"
    function = "langladder.faces.mlflow.functions.TranslatorFunction"
    asks = ("translate",)
    judge = "langladder.answers.evaluate.judge_translator"
    in_python = True
    in_new = True
    loading = """from langladder.models.translation.translator import Translator

model = Translator.load("{folder}")
model.log_probs(source, target)  # (B, S) ids … EOS, (B, T + 1) BOS ids … EOS → (B, T) log P of each next token"""
    limits = (
        "The model only knows the words and kinds of sentences of its training pairs; for others, its output can be "
        "fluent and wrong. It repeats the prejudices of its training text."
    )

    def settings(self, value: Values) -> type[Listed]:
        """With a base it has the network of its base, and names no class."""
        return self.rung() if self.bases else super().settings(value)

    def rung(self) -> "type[TranslatorRung | TranslatorTransfer]":
        """All are trained."""
        from langladder.families.rungs import TranslatorRung, TranslatorTransfer

        return TranslatorTransfer if self.bases else TranslatorRung

    def maker(self, value: Values) -> str | None:
        """That of its class; with a base by a reward, or like any translator."""
        if not self.bases:
            return super().maker(value)
        return f"langladder.tasks.translation{'_reward' if value['training'].get('reward') else ''}.make"

    def base_problem(self, value: Values, base: Values) -> str | None:
        """Only some networks have an attention to guide."""
        kind = locate(base["_target_"]) if "_target_" in base else None
        if value["training"].get("guided_attention") and kind is not None and not hasattr(kind, "attended"):
            return f"training.guided_attention: a {kind.__name__} does not have one attention to its source"
        return None

    def page(self) -> type[Page]:
        """`TranslatorPage`."""
        from langladder.evaluation.translation import TranslatorPage

        return TranslatorPage

    def training_inputs(self, rung: "TranslatorRung | TranslatorTransfer") -> dict[str, Path]:
        """The encoded pairs and their tokenizers."""
        return {"tokens": TOKENS}

    def train(
        self, rung: "TranslatorRung | TranslatorTransfer", job: "Job", make: Make, root: Path = Path()
    ) -> Trained:
        """On pairs of sentences, from random weights or from those of its base.

        Args:
            root: the folder that holds data/.
        """
        import torch

        from langladder.evaluation.bleu import bleu_config
        from langladder.families.rungs import TranslatorTransfer
        from langladder.models.translation.translator import Translator
        from langladder.text.storage.token_streams import PairStream
        from langladder.text.tokenize.tokenizers import Tokenizer
        from langladder.text.words.segmentation import CONVENTIONS

        torch.manual_seed(job.seed)
        tokens = root / TOKENS
        files = [tokens / f"{side}.json" for side in ("source", "target")]
        tokenizers = [Tokenizer.load(file) for file in files]
        if isinstance(rung, TranslatorTransfer):
            model = Translator.load(root / "models" / rung.base)
        else:
            model = locate(rung.target)(rung.model, *(tokenizer.vocab_size for tokenizer in tokenizers))
        pairs = [PairStream.open(tokens / f"{split}.arrow") for split in ("train", "validation")]
        bleu = bleu_config(tokens, job.bleu_tokenize or "auto").tokenize
        more = {"score": sentence_scores(tokens)} if getattr(rung.training, "reward", None) else {}
        result = make(model, tokenizers, *pairs, settings=rung, bleu_tokenize=bleu, **more)
        return Trained(model, result, *validated(model, result), copies_of(*files, tokens / CONVENTIONS))

    def evaluation_inputs(self, rung: "TranslatorRung | TranslatorTransfer", job: "Job") -> dict[str, Path]:
        """The test sentences, encoded and as text."""
        return {"tokens": TOKENS / "test.arrow", "text": TEST}

    def evaluate(self, rung: "TranslatorRung | TranslatorTransfer", job: "Job", folder: Path) -> Evaluated:
        """Translate the test sentences by beam search, score them, and separate errors of search and model."""
        from langladder.decoding.beam_search import BeamConfig
        from langladder.evaluation.bleu import bleu_config
        from langladder.evaluation.translation import Sentence, evaluate_translator
        from langladder.models.translation.translator import Translator
        from langladder.text.storage.tables import PAIRS, read_table
        from langladder.text.storage.token_streams import PairStream
        from langladder.text.tokenize.tokenizers import Tokenizer
        from langladder.text.words.segmentation import conventions_of

        model, chosen = Translator.load(folder), job.evaluation
        tokenizers = (Tokenizer.load(folder / "source.json"), Tokenizer.load(folder / "target.json"))
        texts = (column.to_pylist() for column in read_table(TEST, PAIRS).columns)
        pairs = PairStream.open(TOKENS / "test.arrow")
        beam = BeamConfig(
            width=chosen.beam,
            alpha=chosen.length_alpha,
            length_form=chosen.length_form,
            coverage=chosen.coverage,
            max_length=chosen.max_length,
        )
        table: list[Prediction] = []
        page = evaluate_translator(
            model,
            [Sentence(*row) for row in zip(pairs.source, pairs.target, *texts, strict=True)],
            tokenizers,
            beam,
            name=rung.name,
            split=conventions_of(TOKENS, "source").split,
            n_best=chosen.n_best,
            bleu=bleu_config(TOKENS, chosen.bleu_tokenize, bootstrap=1000),
            widths=chosen.search_error_widths,
            width_sentences=chosen.search_error_sentences,
            table=table,
        )
        scores = page.scores
        message = (
            f"BLEU {scores.bleu:.2f} chrF {scores.chrf:.2f} on {scores.sentences:,} sentences ({scores.signature})"
        )
        costs = {f"seconds_beam_{result.width}": result.seconds for result in page.by_width}
        return Evaluated(page, message, costs=costs, predictions=table)


def sentence_scores(tokens: Path) -> "Callable[[str, str], float]":
    """The score of a translation, given its reference; tokens: the folder of the encoded pairs."""
    from langladder.evaluation.bleu import sentence_bleu
    from langladder.text.words.segmentation import conventions_of

    split = conventions_of(tokens, "target").split
    return lambda text, reference: sentence_bleu(split(text), [split(reference)], smoothed=True)


FAMILY = TranslatorFamily()
TRANSFER = FAMILY.from_base(
    name="translator_transfer",
    listed="translator_transfers",
    title="Translators that started from others",
    position=41,
    default="attention_risk",
    bases=("translator", "translator_transfer"),
)
