"""Stage `evaluate_translator`: translate the test sentences by beam search and score them."""

from pathlib import Path
from typing import Any

from langladder.artefacts import write_json
from langladder.decoding.beam_search import BeamConfig
from langladder.evaluation.translation import evaluate_translator
from langladder.models.translator import Translator
from langladder.text.corpus_ids import PairStream
from langladder.text.tables import PAIRS, read_table
from langladder.text.tokenizers import Tokenizer
from pipeline.stage import stage
from pipeline.work import work

TOKENS = Path("data/tokens/parallel/test.arrow")
TEXT = Path("data/clean/parallel/test.parquet")
SHOWN = ("bleu", "bleu_low", "bleu_high", "chrf", "exact_match", "brevity_penalty", "sentences")


@stage
def main(job: Any, out: Path) -> None:
    name = job.translator.name
    folder = Path("models/translator") / name
    with work("translator", "evaluate_translator", job, {"model": folder, "tokens": TOKENS, "text": TEXT}) as open_work:
        model = Translator.load(folder)
        tokenizers = (Tokenizer.load(folder / "source.json"), Tokenizer.load(folder / "target.json"))
        sources, references = (column.to_pylist() for column in read_table(TEXT, PAIRS).columns)
        pairs = list(zip(PairStream.open(TOKENS).source, sources, references, strict=True))
        beam = BeamConfig(
            width=job.evaluation.beam, alpha=job.evaluation.length_alpha, max_length=job.evaluation.max_length
        )
        page = evaluate_translator(model, pairs, tokenizers, beam)
        names = {"name": name, "title": job.translator.title, "parameters": model.number_of_parameters()}
        write_json(out / "reports" / "rungs" / "translator" / f"{name}.json", names | page)
        figures = {key: page["scores"][key] for key in SHOWN}
        write_json(out / "metrics" / "translator" / f"{name}.json", figures)
        open_work.run.metrics(figures)
    print(f"evaluate_translator {name}: BLEU {figures['bleu']:.2f} on {figures['sentences']:,} sentences")


if __name__ == "__main__":
    main()
