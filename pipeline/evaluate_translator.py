"""Stage `evaluate_translator`: translate the test sentences, score them, and say whose the errors are."""

from pathlib import Path
from typing import Any

from langladder.artefacts import write_json
from langladder.decoding.beam_search import BeamConfig
from langladder.evaluation.bleu import bleu_config
from langladder.evaluation.search_errors import Sentence, by_width
from langladder.evaluation.translation import evaluate_translator, spread
from langladder.models.translator import Translator
from langladder.text.corpus_ids import PairStream
from langladder.text.tables import PAIRS, read_table
from langladder.text.tokenizers import Tokenizer
from pipeline.provenance.job import tracked_job
from pipeline.settings.stage import stage

TOKENS = Path("data/tokens/parallel/test.arrow")
TEXT = Path("data/clean/parallel/test.parquet")
SHOWN = ("bleu", "bleu_low", "bleu_high", "chrf", "ter", "exact_match", "brevity_penalty", "sentences", "main")


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
        bleu = bleu_config(TOKENS.parent, chosen.bleu_tokenize, bootstrap=1000)
        page = evaluate_translator(model, sentences, tokenizers, beam, n_best=chosen.n_best, bleu=bleu)
        some = spread(sentences, chosen.search_error_sentences)
        widths = by_width(model, some, tokenizers[1], beam, chosen.search_error_widths, bleu)
        page["search_errors"]["by_width"] = [result.as_dict() for result in widths]
        names = {"name": name, "title": job.translator.title, "family": model.approach}
        names |= {"parameters": model.number_of_parameters()}
        write_json(out / "reports" / "rungs" / "translator" / f"{name}.json", names | page)
        figures = {key: page["scores"][key] for key in SHOWN}
        figures["search_error_share"] = page["search_errors"]["share"]
        figures["signature"] = page["scores"]["bleu_signature"]
        write_json(out / "metrics" / "translator" / f"{name}.json", figures)
        work.run.test_scores(folder, figures)
        work.run.metrics({f"seconds_beam_{result.width}": result.seconds for result in widths})
    shown = " ".join(f"{title} {figures[key]:.2f}" for key, title in (("bleu", "BLEU"), ("chrf", "chrF")))
    print(f"evaluate_translator {name}: {shown} on {figures['sentences']:,} sentences ({figures['signature']})")


if __name__ == "__main__":
    main()
