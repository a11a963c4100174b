"""Stage `watch`: note the content of what single rungs of a family read beyond what all of them do.

DVC knows a stage's inputs for all its jobs alike. Beside them each job depends on its own small file, written here:
data/watched/<family>/<rung>.json, path → hash of the content, so that a new file of word vectors, a mended lexicon or
another corpus runs the rungs again that read it, and no others.
"""

from functools import cache
from pathlib import Path

from langladder.ground.artefacts import write_json
from langladder.ground.atomic import atomic_folder
from pipeline.settings.run_folder import OUTPUT, output
from pipeline.settings.schema import WatchJob
from pipeline.settings.stage import stage
from pipeline.tracking.fingerprint import digest


@stage
def main(job: WatchJob, out: Path) -> None:
    content = cache(digest)  # several rungs may read the same
    folder = output(out, "data/watched", job.family)
    with atomic_folder(folder, OUTPUT) as temporary:
        for rung, paths in job.inputs.items():
            write_json(output(temporary, "", rung, ending=".json"), {path: content(Path(path)) for path in paths})
    reading = sum(bool(paths) for paths in job.inputs.values())
    print(f"watch {job.family}: {reading} of {len(job.inputs)} rungs read something of their own → {folder}")


if __name__ == "__main__":
    main()
