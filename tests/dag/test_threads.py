"""A job computes with the threads that its settings say: neither the machine nor OMP_NUM_THREADS has a say."""

import json
import os
import subprocess
import sys

import pytest

from pipeline import ROOT

# What a job does: threads as its settings say, with torch and SciPy loaded before that or after.
SCRIPT = """
import sys, os, json, hashlib
threads, processors, early = map(int, sys.argv[1:])
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:processors])
if early:
    import numba, torch, sklearn
from pipeline.settings.resources import compute_with
compute_with(threads)
loaded = [name for name in ("torch", "numba") if name in sys.modules]
import numba, numpy as np, torch
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import threadpool_info
rng = np.random.default_rng(1)
A = rng.random((300, 200)).astype(np.float32)
found = [A.T @ A, randomized_svd(A, 10, random_state=1)[1], np.linalg.svd(A)[1]]
x = torch.from_numpy(A).requires_grad_()
(x @ x.T).softmax(1).pow(2).sum().backward()
found.append(x.grad.numpy())
print(json.dumps({
    "torch": torch.get_num_threads(),
    "pools": [pool["num_threads"] for pool in threadpool_info()],
    "numba": numba.config.NUMBA_NUM_THREADS,
    "dynamic": os.environ["OMP_DYNAMIC"],
    "loaded": loaded,
    "bytes": hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in found)).hexdigest(),
}))
"""


def job(threads: int, *, processors: int, early: bool, outer: str | None) -> dict:
    environment = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}
    environment |= {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}
    environment |= {"OMP_NUM_THREADS": outer} if outer else {}
    command = [sys.executable, "-c", SCRIPT, str(threads), str(processors), str(int(early))]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    content: dict = json.loads(result.stdout)
    return content


@pytest.mark.long
def test_the_settings_decide_and_nothing_else() -> None:
    """Two threads on one processor compute the same as on several."""
    runs = [job(2, processors=1, early=False, outer=None), job(2, processors=2, early=True, outer="1")]
    for run in runs:
        assert run["torch"] == run["numba"] == 2
        assert set(run["pools"]) == {2}
        assert run["dynamic"] == "FALSE"
    assert runs[0]["bytes"] == runs[1]["bytes"]
    assert runs[0]["loaded"] == []  # stages that need no torch do not wait for it
