"""Stage `evaluate_captioner`: caption the test scenes, greedily and by beam search; the grammar judges."""

from pathlib import Path
from typing import Any

from langladder.corpora.scenes import read_scenes
from langladder.data.captioning import CODES, SceneCodes
from langladder.decoding.beam_search import BeamConfig
from langladder.evaluation.captions import evaluate_captions
from langladder.models.captioner import Captioner
from pipeline.provenance.job import tracked_job
from pipeline.provenance.judged import judged
from pipeline.settings.stage import stage

SCENES = Path("data/raw/scenes")


@stage
def main(job: Any, out: Path) -> None:
    name = job.captioner.name
    folder = Path("models/captioner") / name
    with tracked_job("captioner", "evaluate_captioner", job, {"model": folder, "scenes": SCENES}) as work:
        corpus, codes = read_scenes(SCENES), SceneCodes.load(folder / CODES)
        beam = BeamConfig(width=job.beam)
        page = evaluate_captions(name, Captioner.load(folder), codes, corpus.splits["test"], corpus.size, beam)
        judged(work, out, page, folder)
    found = page.scores.beam
    print(f"evaluate_captioner {name}: by beam search {found.right:.1%} right, BLEU {found.bleu:.1f}")


if __name__ == "__main__":
    main()
