"""Captioners: a vector of facts about a scene → a line of microworld; evaluated with its engine."""

from pathlib import Path
from typing import TYPE_CHECKING

from langladder.evaluation.page import Page
from langladder.families.family import Evaluated, Family, Make, Trained, validated
from langladder.ground.schema import locate

if TYPE_CHECKING:
    from langladder.families.job import Job
    from langladder.families.rungs import TranslatorRung

SCENES = Path("data/raw/scenes")


class CaptionerFamily(Family["TranslatorRung"]):
    """See `Family`."""

    name = "captioner"
    listed = "captioners"
    title = "Captions"
    guide = "sequences.md"
    experiment = "captions"
    position = 50
    default = "lstm"
    report_module = "langladder.faces.report.sequences"
    reads = ("data/raw/scenes",)
    side = "scenes"
    model = "langladder.models.translation.captioner.Captioner"
    loading = """from pathlib import Path

from langladder.data.captioning import CODES, SceneCodes
from langladder.models.translation.captioner import Captioner


model, codes = Captioner.load(Path("{folder}")), SceneCodes.load(Path("{folder}") / CODES)
model.log_probs(source, target)  # ids of facts … EOS, BOS ids of words EOS → log P of each next word"""
    limits = "The model only knows the facts and words of the small world's scenes."

    def rung(self) -> "type[TranslatorRung]":
        """All are trained like translators."""
        from langladder.families.rungs import TranslatorRung

        return TranslatorRung

    def page(self) -> type[Page]:
        """`CaptionPage`."""
        from langladder.evaluation.captions import CaptionPage

        return CaptionPage

    def training_inputs(self, rung: "TranslatorRung") -> dict[str, Path]:
        """The scenes."""
        return {"scenes": SCENES}

    def train(self, rung: "TranslatorRung", job: "Job", make: Make) -> Trained:
        """Train on scenes and their captions."""
        import torch

        from langladder.corpora.scenes import read_scenes
        from langladder.data.captioning import CODES, SceneCodes

        splits = read_scenes(SCENES)
        codes = SceneCodes.of_corpus(splits["train"])
        torch.manual_seed(job.seed)
        model = locate(rung.target)(rung.model, *codes.sizes)
        pairs = (codes.pairs(splits[split]) for split in ("train", "validation"))
        result = make(model, None, *pairs, settings=rung)
        figures, message = validated(model, result)
        figures |= {f"{split}_examples": len(examples) for split, examples in splits.items()}
        return Trained(model, result, figures, message, lambda folder: codes.save(folder / CODES))

    def evaluation_inputs(self, rung: "TranslatorRung", job: "Job") -> dict[str, Path]:
        """The scenes."""
        return {"scenes": SCENES}

    def evaluate(self, rung: "TranslatorRung", job: "Job", folder: Path) -> Evaluated:
        """Caption the test scenes, greedily and by beam search; those that describe their scene are correct."""
        from langladder.corpora.scenes import read_scenes
        from langladder.data.captioning import CODES, SceneCodes
        from langladder.decoding.beam_search import BeamConfig
        from langladder.evaluation.captions import evaluate_captions
        from langladder.models.translation.captioner import Captioner

        test, codes = read_scenes(SCENES)["test"], SceneCodes.load(folder / CODES)
        beam = BeamConfig(width=job.beam)
        page = evaluate_captions(rung.name, Captioner.load(folder), codes, test, beam)
        scores = page.scores.beam
        return Evaluated(page, f"by beam search {scores.right:.1%} right, BLEU {scores.bleu:.1f}")


FAMILY = CaptionerFamily()
