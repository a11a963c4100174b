"""Which prompts a rollout answers and which responses a minibatch learns from."""

import numpy as np

from langladder.data.prompts import RolloutBatches


def make(**changes: int) -> RolloutBatches:
    settings = {"per_rollout": 4, "kept": 10, "epochs": 2, "minibatches": 3, "seed": 1}
    return RolloutBatches(10, 5, **settings | changes)  # type: ignore[arg-type]


def test_golden_places_of_the_steps() -> None:
    """2 × 3 minibatches a rollout: step 14 is the third one of rollout 2."""
    batches = make()
    results = [batches.train(step) for step in range(15)]
    assert [(part.rollout, part.position) for part in results[4:8]] == [(0, 4), (0, 5), (1, 0), (1, 1)]
    assert (results[14].rollout, results[14].position) == (2, 2)
    assert all(np.array_equal(part.prompts, results[0].prompts) for part in results[:6])


def test_each_pass_sees_each_response_once_in_its_own_order() -> None:
    batches = make()
    passes = [np.concatenate([batches.train(3 * number + part).rows for part in range(3)]) for number in range(4)]
    assert all(sorted(rows) == list(range(10)) for rows in passes)
    assert len({tuple(rows) for rows in passes}) == 4
    assert [batches.size(batches.train(step)) for step in range(3)] == [4, 3, 3]


def test_prompts_come_once_an_epoch_and_steps_are_pure() -> None:
    batches = make()
    prompts = np.concatenate([batches.train(6 * rollout).prompts for rollout in range(5)])
    assert sorted(prompts[:10]) == sorted(prompts[10:]) == list(range(10))
    again = make().train(13)
    assert np.array_equal(again.rows, batches.train(13).rows)
    assert np.array_equal(again.prompts, batches.train(13).prompts)
    assert not np.array_equal(make(seed=2).train(13).prompts, again.prompts)


def test_validation_is_one_batch() -> None:
    (rows,) = make().validation()
    assert rows.tolist() == [0, 1, 2, 3, 4]
    assert make().size(rows) == 5
    assert RolloutBatches(3, 0, per_rollout=1, kept=1, epochs=1, minibatches=1, seed=1).validation() == []
