"""Instructed models: a GPT learns from demonstrations to follow instructions; evaluated by the reward of answers."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeVar

from langladder.evaluation.page import Page
from langladder.families.family import Continued, Evaluated, Family, Listed, Make, Trained, Values, copies_of, validated
from langladder.families.lm import TOKENS
from langladder.ground.schema import locate

if TYPE_CHECKING:
    from langladder.families.job import Job
    from langladder.models.language.language_model import LanguageModel
    from langladder.models.making import TrainingResult
    from langladder.text.labelled.instructions import Dialogue

INSTRUCTIONS = Path("data/clean/instructions")
MOST = 32  # tokens of an answer
REPORTED = ("reward", "unseen_reward", "reworded_reward", "proxy", "kl")  # figures in the message of an evaluation

LOADING = """from langladder.decoding.answers import answers
from langladder.decoding.sampling import SamplingConfig
from langladder.models.language.instructed import read_instructed
from langladder.text.labelled.templates import ChatTemplate
from langladder.text.labelled.instructions import Message

model, tokenizer = read_instructed("{folder}")
prompt = (Message("user", "in which country is paris ?"),)
answers(model, ChatTemplate(tokenizer), [prompt], SamplingConfig(strategy="greedy", max_tokens=40))"""


Answering = TypeVar("Answering", bound=Continued)


class InstructFamily(Family[Answering]):
    """See `Family`."""

    name = "instruct"
    listed = "instructs"
    title = "Models that follow instructions"
    guide = "instruction.md"
    experiment = "instructions"
    report_module = "langladder.faces.report.instructed"
    position = 40
    default = "sft"
    reads: ClassVar[tuple[str, ...]] = ("data/clean/instructions",)
    side = "instructions"
    tokens = "data/tokens/text"
    bases: tuple[str, ...] = ("lm", "tune", "instruct")
    model = "langladder.models.language.instructed.InstructedGPT"
    function = "langladder.faces.mlflow.functions.AssistantFunction"
    asks: ClassVar[tuple[str, ...]] = ("chat", "score", "generate")
    loading = LOADING
    limits = (
        "The model follows the kinds of instructions that it was trained on; its answers repeat its training text, "
        "right or wrong."
    )

    def settings(self, value: Values) -> type[Listed]:
        """The base, dropout and training; it names no class."""
        from langladder.families.rungs import InstructRung

        return InstructRung

    def maker(self, value: Values) -> str | None:
        """The same for all."""
        return "langladder.tasks.instruction.make"

    def base_problem(self, value: Values, base: Values) -> str | None:
        """A base must be a GPT; a base without its own network has the one of its base."""
        from langladder.models.language.gpt import GPT

        if "_target_" not in base or issubclass(kind := locate(base["_target_"]), GPT):
            return None
        return f"it is a {kind.__name__}, but an instructed model starts from a GPT of the families lm and tune"

    def page(self) -> type[Page]:
        """`InstructedPage`."""
        from langladder.evaluation.instructed import InstructedPage

        return InstructedPage

    def training_inputs(self, rung: "Answering") -> dict[str, Path]:
        """The dialogues, and the plain text."""
        return {"instructions": INSTRUCTIONS, "tokens": TOKENS}

    def train(self, rung: "Answering", job: "Job", make: Make) -> Trained:
        """Train on the training dialogues, validate on the validation dialogues."""
        from langladder.text.storage.token_streams import TokenStream

        base, (train, validation) = Path("models") / rung.base, dialogues("train", "validation")
        beside = {"judge": gold_rewards(train, validation), "text": TokenStream.open(TOKENS / "train.arrow")}
        return answering(base, *make(base, train, validation, settings=rung, **beside))

    def evaluation_inputs(self, rung: "Answering", job: "Job") -> dict[str, Path]:
        """The dialogues, and the plain text."""
        return {"instructions": INSTRUCTIONS, "tokens": TOKENS}

    def evaluate(self, rung: "Answering", job: "Job", folder: Path) -> Evaluated:
        """Answer the held-out prompts; score the answers and plain text."""
        return evaluate_answers(rung, folder)


def dialogues(*splits: str) -> "list[list[Dialogue]]":
    """The cleaned dialogues of splits."""
    from langladder.text.labelled.instructions import read_dialogues

    return [read_dialogues(INSTRUCTIONS / f"{split}.parquet") for split in splits]


def known(*splits: "list[Dialogue]") -> bool:
    """Whether the gold judge knows every request."""
    return all(dialogue.asked is not None for split in splits for dialogue in split)


def gold_rewards(*splits: "list[Dialogue]") -> Callable[..., list[float]] | None:
    """The judge that rewards answers to these prompts, or None."""
    from langladder.corpora.instructions.judge import rewards_of_answers

    return rewards_of_answers if known(*splits) else None


def answering(base: Path, model: "LanguageModel", result: "TrainingResult") -> Trained:
    """A model with its base's tokenizer, and the last validation figures."""
    from langladder.text.words.segmentation import CONVENTIONS

    figures, message = validated(model, result)
    last: Mapping[str, float | None] = next((row for row in reversed(result.curve) if "validation_loss" in row), {})
    figures |= {name: value for name, value in last.items() if name.startswith("validation_")} | figures
    files = [base / name for name in ("tokenizer.json", CONVENTIONS) if (base / name).is_file()]
    return Trained(model, result, figures, message, copies_of(*files))


def evaluate_answers(rung: Continued, folder: Path, base: Path | None = None, reads: Path | None = None) -> Evaluated:
    """Answers to the held-out prompts, the distance to the model's base, and its plain text.

    Args:
        base: the model that it was aligned from, for the distance.
        reads: the source of its rewards or preferences; a reward model also scores the answers.
    """
    from langladder.corpora.instructions.judge import judgements
    from langladder.corpora.instructions.requests import REWORDED
    from langladder.evaluation.instructed import Answering, AnswerScores, InstructedPage, splits_of, with_room
    from langladder.evaluation.perplexity import score
    from langladder.evaluation.work import work_of
    from langladder.ground.artefacts import read_json
    from langladder.models.language.instructed import read_instructed
    from langladder.models.reward import RewardModel
    from langladder.text.labelled.templates import ChatTemplate
    from langladder.text.storage.token_streams import TokenStream

    model, tokenizer = read_instructed(folder)
    test, unseen = dialogues("test", "unseen")
    answerer = Answering(
        model,
        tokenizer,
        MOST,
        gold=judgements if known(test, unseen) else None,
        reward_model=RewardModel.load(reads) if reads and reads.parts[0] == "models" else None,
        base=read_instructed(base)[0] if base else None,
        n=getattr(rung, "n", 1),
    )
    scores: dict[str, AnswerScores] = {}
    samples, left_out = [], 0
    for split, prompts in splits_of(test, unseen, REWORDED).items():
        kept = with_room(prompts, ChatTemplate(tokenizer), model.context - MOST)
        left_out += len(prompts) - len(kept)
        if kept:
            scores[split], examples = answerer.scores(kept)
            samples += examples
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
    figures = page.figures()
    text = ", ".join(f"{name} {figures[name]:.3f}" for name in REPORTED if name in figures)
    missing = f"; {left_out:,} prompts leave no room for an answer and are not counted" if left_out else ""
    return Evaluated(page, f"{text or 'answers that nobody judges'}{missing}")


FAMILY: InstructFamily[Continued] = InstructFamily()
