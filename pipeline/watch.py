"""Stage `watch`: record the hashes of inputs that only some rungs of a family read.

In DVC, all jobs of a stage have the same inputs. So each job also depends on a small file of its own, written here:
data/watched/<family>/<rung>.json, path → hash of the content. New word vectors, a corrected lexicon or another
corpus then runs only the rungs again that read it.
"""

from functools import cache
from pathlib import Path

from langladder.ground.artefacts import write_json
from langladder.ground.atomic import atomic_folder
from langladder.ground.schema import Name
from pipeline.settings.run_folder import OUTPUT, output
from pipeline.settings.schema import StageJob
from pipeline.settings.stage import stage
from pipeline.tracking.fingerprint import digest


class WatchJob(StageJob):
    """Settings of this stage. inputs: rung → what it reads."""

    family: Name
    inputs: dict[Name, list[str]]


@stage
def main(job: WatchJob, out: Path) -> None:
    content = cache(digest)  # several rungs can read the same input
    folder = output(out, "data/watched", job.family)
    with atomic_folder(folder, OUTPUT) as temporary:
        for rung, paths in job.inputs.items():
            write_json(output(temporary, "", rung, ending=".json"), {path: content(Path(path)) for path in paths})
    reading = sum(bool(paths) for paths in job.inputs.values())
    print(f"watch {job.family}: {reading} of {len(job.inputs)} rungs have additional inputs → {folder}")


if __name__ == "__main__":
    main()
