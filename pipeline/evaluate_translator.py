"""Stage `evaluate_translator`: translate the test sentences, score them, and say whose the errors are."""

from pathlib import Path
from typing import Any

from langladder.decoding.beam_search import BeamConfig
from langladder.evaluation.bleu import bleu_config
from langladder.evaluation.search_errors import Sentence
from langladder.evaluation.translation import evaluate_translator
from langladder.models.translator import Translator
from langladder.text.storage.corpus_ids import PairStream
from langladder.text.storage.tables import PAIRS, read_table
from langladder.text.tokenize.tokenizers import Tokenizer
from langladder.text.words.conventions import conventions_of
from pipeline.provenance.job import tracked_job
from pipeline.provenance.judged import judged
from pipeline.settings.stage import stage

TOKENS = Path("data/tokens/parallel/test.arrow")
TEXT = Path("data/clean/parallel/test.parquet")


@stage
def main(job: Any, out: Path) -> None:
    name = job.translator.name
    folder = Path("models/translator") / name
    with tracked_job(
        "translator", "evaluate_translator", job, {"model": folder, "tokens": TOKENS, "text": TEXT}
    ) as work:
        model = Translator.load(folder)
        tokenizers = (Tokenizer.load(folder / "source.json"), Tokenizer.load(folder / "target.json"))
        texts = (column.to_pylist() for column in read_table(TEXT, PAIRS).columns)
        pairs = PairStream.open(TOKENS)
        sentences = [Sentence(*row) for row in zip(pairs.source, pairs.target, *texts, strict=True)]
        chosen = job.evaluation
        beam = BeamConfig(
            width=chosen.beam,
            alpha=chosen.length_alpha,
            length_form=chosen.length_form,
            coverage=chosen.coverage,
            max_length=chosen.max_length,
        )
        page = evaluate_translator(
            model,
            sentences,
            tokenizers,
            beam,
            name=name,
            split=conventions_of(TOKENS.parent, "source").split,
            n_best=chosen.n_best,
            bleu=bleu_config(TOKENS.parent, chosen.bleu_tokenize, bootstrap=1000),
            widths=chosen.search_error_widths,
            width_sentences=chosen.search_error_sentences,
        )
        judged(work, out, page, folder)
        work.run.metrics({f"seconds_beam_{result.width}": result.seconds for result in page.by_width})
    scores = page.scores
    shown = f"BLEU {scores.bleu:.2f} chrF {scores.chrf:.2f} on {scores.sentences:,} sentences ({scores.signature})"
    print(f"evaluate_translator {name}: {shown}")


if __name__ == "__main__":
    main()
