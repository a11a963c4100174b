"""What the stages that judge models that answer share: the families `instruct` and `align`."""

from pathlib import Path
from typing import Any

from langladder.corpora.instructions.kinds import REWORDED
from langladder.evaluation.instructed import Answering, AnswerScores, InstructedPage, splits_of, with_room
from langladder.evaluation.perplexity import score
from langladder.evaluation.work import work_of
from langladder.ground.artefacts import read_json
from langladder.models.instructed import read_instructed
from langladder.models.reward import RewardModel
from langladder.text.labelled.templates import ChatTemplate
from langladder.text.storage.corpus_ids import TokenStream
from pipeline.provenance.job import tracked_job
from pipeline.provenance.judged import judged
from pipeline.provenance.made_instructed import INSTRUCTIONS, TOKENS, dialogues, gold_judgements

MOST = 32  # tokens of an answer
SAID = ("reward", "unseen_reward", "reworded_reward", "proxy", "kl")  # figures that the stage's line tells


def judge(job: Any, out: Path, *, family: str, stage: str) -> None:
    """Let a model answer the held-out prompts; judge the answers, the distance to its base, and its plain text."""
    rung = getattr(job, family)
    folder, reads = Path("models") / family / rung.name, Path(getattr(rung, "reads", ""))
    inputs = {"model": folder, "instructions": INSTRUCTIONS, "tokens": TOKENS}
    base = Path("models") / rung.base
    inputs |= {"reads": reads, "base": base} if family == "align" else {}
    with tracked_job(family, stage, job, inputs) as work:
        model, tokenizer = read_instructed(folder)
        test, unseen = dialogues("test", "unseen")
        answering = Answering(
            model,
            tokenizer,
            MOST,
            gold=gold_judgements(test, unseen),
            reward_model=RewardModel.load(reads) if reads.parts[:1] == ("models",) else None,
            base=read_instructed(base)[0] if family == "align" else None,
            n=getattr(rung, "n", 1),
        )
        scores: dict[str, AnswerScores] = {}
        samples, left_out = [], 0
        for split, asked in splits_of(test, unseen, REWORDED).items():
            kept = with_room(asked, ChatTemplate(tokenizer), model.context - MOST)
            left_out += len(asked) - len(kept)
            if kept:
                scores[split], shown = answering.scores(kept)
                samples += shown
        training = getattr(rung, "training", None)
        page = InstructedPage(
            name=rung.name,
            approach=model.approach,
            parameters=model.number_of_parameters(),
            work=training and work_of(model, training.optimizer, rows=getattr(training, "batch_size", 32), length=MOST),
            method=getattr(rung, "method", "sft"),
            scores=scores,
            left_out=left_out,
            text=score(model, TokenStream.open(TOKENS / "test.arrow"), **read_json(TOKENS / "sizes.json")["test"]),
            samples=samples,
        )
        judged(work, out, page, folder)
    figures = page.figures()
    said = ", ".join(f"{name} {figures[name]:.3f}" for name in SAID if name in figures)
    print(f"{stage} {rung.name}: {said or 'answers that nobody judges'}")
