"""Stage `tokenize`: train the tokenizer on the training split; encode every split to memory-mapped Arrow."""

from pathlib import Path

from langladder.ground.artefacts import write_json
from langladder.ground.atomic import atomic_folder
from langladder.text.tokenize.side import tokenize_side
from langladder.text.tokenize.tokenizers import TokenizerConfig
from pipeline.settings.run_folder import OUTPUT, output
from pipeline.settings.schema import SideJob
from pipeline.settings.stage import stage


class TokenizeJob(SideJob):
    """Settings of this stage."""

    tokenizer: TokenizerConfig
    shared_tokenizer: bool


@stage
def main(job: TokenizeJob, out: Path) -> None:
    clean, folder = Path("data/clean") / job.side, output(out, "data/tokens", job.side)
    with atomic_folder(folder, OUTPUT) as temporary:
        report = tokenize_side(job.side, clean, job.tokenizer, temporary, shared=job.shared_tokenizer)
    for side_report in (report, report.get("source", {}), report.get("target", {})):
        for warning in side_report.get("warnings", []):
            print(f"tokenize: warning: {warning}")
    write_json(output(out, "metrics/tokenize", job.side, ending=".json"), report)
    tokens = report["splits"]["train"]
    print(f"tokenize {job.side}: " + ", ".join(f"{count:,} {what}" for what, count in tokens.items()) + f" → {folder}")


if __name__ == "__main__":
    main()
