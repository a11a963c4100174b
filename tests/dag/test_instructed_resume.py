"""From demonstrations to PPO: a kill in any of the trainings resumes to the same bits; preferences begin anew.

The jobs run in forks of one process, and the fork is killed; `test_same_result.py` kills a job that DVC has started.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from killed import checkpoints, kill_when
from project_copy import FORKED, LADDER, finished_project, forking, run, smallest

pytestmark = [pytest.mark.long, pytest.mark.dag, pytest.mark.timeout(1800)]

LONGER = {"max_steps": 40, "checkpoint_every": 3}
SFT, ON_POLICY = {"base": "instruct/sft"}, ("ppo", "grpo", "expert_iteration")
CHAIN = {
    "corpora": ["instructions"],
    "instructs": {"sft": {"base": "lm/gpt"}},
    "rewards": {"reward": SFT | {"reads": "data/preferences/sft"}},
    "aligns": {name: SFT | {"reads": "models/reward/reward"} for name in ON_POLICY}
    | {"dpo": SFT | {"reads": "data/preferences/sft"}},
    "instruct": {"sft": {"training": LONGER}},
    "reward": {"reward": {"training": LONGER}},
    "align": {name: {"training": LONGER} for name in (*ON_POLICY, "dpo")},
}
TRAININGS = {
    "train_instruct@sft": "instruct/sft",
    "train_reward@reward": "reward/reward",
    **{f"train_align@{name}": f"align/{name}" for name in (*ON_POLICY, "dpo")},
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = finished_project(tmp_path_factory)
    nothing: dict[str, object] = {key: [] for key in ("embeddings", "translators", "claims", "probes")}
    smallest(folder, **nothing, lms=["gpt"], data=LADDER["data"], **CHAIN)
    run(folder, "env", "OMP_NUM_THREADS=1", sys.executable, FORKED)
    with forking(folder):
        yield folder


def again(project: Path, stage: str, folder: Path, there: Callable[[], object]) -> None:
    """Kill a stage, run it again, and see that it leaves the same bytes."""
    whole = {file.name: file.read_bytes() for file in folder.iterdir()}
    kill_when(project, stage, there)
    assert there() and not folder.exists()
    run(project, "dvc", "repro", "-f", "-s", stage)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == whole


@pytest.mark.parametrize("stage", TRAININGS)
def test_killed_training_resumes_to_the_same_bits(project: Path, stage: str) -> None:
    again(project, stage, project / "models" / TRAININGS[stage], lambda: checkpoints(project))
    assert not checkpoints(project)


def test_killed_preferences_are_drawn_again_to_the_same_bytes(project: Path) -> None:
    folder = project / "data" / "preferences" / "sft"
    again(project, "prefer@sft", folder, lambda: list(folder.parent.glob("*.partial")))
