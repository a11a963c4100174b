"""Stage `evaluate_encoder`: let an encoder fill gaps in the test text."""

from pathlib import Path
from typing import Any

from langladder.evaluation.encoder import evaluate_encoder
from langladder.evaluation.work import work_of
from langladder.models.encoder import Encoder
from langladder.text.storage.corpus_ids import TokenStream
from langladder.text.storage.tables import TEXT, read_batches
from langladder.text.tokenize.tokenizers import Tokenizer
from langladder.text.words.conventions import conventions_of
from pipeline.provenance.job import tracked_job
from pipeline.provenance.judged import judged
from pipeline.provenance.made_lm import TOKENS
from pipeline.settings.stage import stage

TEST = Path("data/clean/text/test")


@stage
def main(job: Any, out: Path) -> None:
    rung = job.encoder
    folder, training = Path("models/encoder") / rung.name, rung.training
    inputs = {"model": folder, "test": TOKENS / "test.arrow", "text": TEST}
    with tracked_job("encoder", "evaluate_encoder", job, inputs) as work:
        model: Any = Encoder.load(folder)
        rows = [row for batch in read_batches(TEST, TEXT, 8192) for row in batch.to_pylist()]
        page = evaluate_encoder(
            model,
            Tokenizer.load(folder / "tokenizer.json"),
            TokenStream.open(TOKENS / "test.arrow"),
            [row["text"] for row in rows],
            [row["log_prob"] for row in rows],
            name=rung.name,
            length=training.sequence_length,
            split=conventions_of(TOKENS).split,
            most_lines=training.most_lines,
            judged=rung.judged,
            work=work_of(model, training.optimizer, rows=training.batch_size, length=training.sequence_length),
        )
        judged(work, out, page, folder)
    truth = page.truth
    above = "" if truth is None else f", hidden words {truth.expected_above_percent:.1f} % above the truth"
    print(f"evaluate_encoder {rung.name}: {page.scores.accuracy:.1%} of the hidden tokens{above}")


if __name__ == "__main__":
    main()
