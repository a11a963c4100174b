"""From what is chosen to the checked settings of every job."""

from contextlib import suppress
from itertools import zip_longest

from hydra import compose
from hydra.errors import HydraException
from omegaconf import DictConfig

from langladder.errors import InputError
from pipeline.support import choices, jobs, naming, schemas
from pipeline.support.problems import explain, gather


def plan(chosen: choices.Choices) -> list[tuple[str, str, list[str]]]:
    """Every job of the DAG: (stage, name of the job, Hydra overrides that select it)."""
    sides = [
        (stage, side, [f"side={side}"]) for stage in ("corpus", "clean", "tokenize") for side in ("text", "parallel")
    ]
    single: list[tuple[str, str, list[str]]] = [(stage, stage, []) for stage in ("vocab", "cooccur", "report")]
    stages = {"embed": "embedding", "evaluate_embedding": "embedding", "train_lm": "lm", "evaluate_lm": "lm"}
    stages |= {"train_translator": "translator", "evaluate_translator": "translator"}
    stages |= {"train_sequence": "sequence", "evaluate_sequence": "sequence"}
    stages |= {"experiment": "experiment", "probe": "probe"}
    rungs = [(stage, rung, [f"{group}={rung}"]) for stage, group in stages.items() for rung in chosen.rungs(group)]
    return sides + single + rungs


def _compose_together(chosen: choices.Choices, left_out: list[str]) -> dict[str, DictConfig]:
    """Selection → a configuration that holds it; each composition (they take a while) serves a rung of every ladder.

    What cannot be composed is left out: alone, it says what is wrong with it.
    """
    columns = [["side=text", "side=parallel"]]
    columns += [[f"{group}={rung}" for rung in chosen.rungs(group)] for group in choices.LADDERS]
    composed: dict[str, DictConfig] = {}
    for row in zip_longest(*columns):
        selection = [choice for choice in row if choice]
        with suppress(InputError, HydraException):
            config = compose("config", choices.overrides(chosen, selection + left_out) + selection)
            composed |= dict.fromkeys(["", *selection], config)
    return composed


def resolve(chosen: choices.Choices) -> dict[str, dict[str, object]]:
    """Checked settings of every job, keyed `<stage>/<job>`.

    Raises:
        InputError: every problem of every job, one a line.
    """
    resolved: dict[str, dict[str, object]] = {}
    problems = naming.problems(chosen)
    if unreadable := naming.conf_problems():
        raise gather([*problems, *unreadable])
    naming.warn(naming.unused(chosen) if not problems else ())
    left_out = naming.bad_groups(chosen)
    chosen = naming.known(chosen)
    composed = _compose_together(chosen, left_out)
    countings: dict[str, object] = {}
    for stage, name, selection in plan(chosen):
        try:
            key = " ".join(selection)
            if key not in composed:
                composed[key] = compose("config", choices.overrides(chosen, selection + left_out) + selection)
            config = composed[key]
            values = jobs.job_values(stage, config, chosen)
            with explain(file_of=jobs.file_of(config)):
                job = schemas.schema(stage, values).model_validate(values)
            if stage == "embed":
                countings |= jobs.countings(job)
            resolved[f"{stage}/{name}"] = values
        except InputError as error:
            problems.append(str(error))
        except HydraException as error:
            problems.append(f"{stage} {name}: " + " ".join(str(error).split()))
    if problems:
        raise gather(problems)
    resolved["cooccur/cooccur"]["countings"] = [countings[key] for key in sorted(countings)]
    return resolved
