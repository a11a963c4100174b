"""Stage `evaluate_sequence`: captions judged by the grammar, transcripts by what was said."""

from pathlib import Path
from typing import Any

from langladder.artefacts import write_json
from langladder.evaluation.sequence import evaluate_sequence
from langladder.schema import locate
from pipeline.provenance.job import tracked_job
from pipeline.settings.stage import stage


@stage
def main(job: Any, out: Path) -> None:
    rung = job.sequence
    folder = Path("models/sequence") / rung.name
    with tracked_job("sequence", "evaluate_sequence", job, {"model": folder}) as work:
        task = locate(rung.target)(rung.data, rung.model, seed=job.seed)
        page = evaluate_sequence(task, folder, beam=job.beam)
        names = {"name": rung.name, "title": rung.title}
        write_json(out / "reports" / "rungs" / "sequence" / f"{rung.name}.json", names | page)
        figures = {"sentences": page["scores"]["sentences"]}
        figures |= {
            f"{search}_{name}": value
            for search in ("greedy", "beam")
            for name, value in page["scores"][search].items()
            if value is not None
        }
        write_json(out / "metrics" / "sequence" / f"{rung.name}.json", figures)
        work.run.test_scores(folder, figures)
    shown = ", ".join(f"{name.removeprefix('beam_')} {value:.4g}" for name, value in figures.items() if "beam_" in name)
    print(f"evaluate_sequence {rung.name}: by beam search {shown}")


if __name__ == "__main__":
    main()
