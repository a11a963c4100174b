"""Stage `take`: import a network with its tokenizer, so that rungs can start from it."""

from pathlib import Path

from langladder.formats.imported import FILES, read_imported
from langladder.formats.model_card import model_card
from langladder.ground.artefacts import FORMAT_VERSION, write_json, write_text
from langladder.ground.atomic import atomic_folder
from langladder.ground.schema import Config, Name
from pipeline.settings.run_folder import OUTPUT, output
from pipeline.settings.schema import StageJob
from pipeline.settings.stage import stage
from pipeline.tracking.fingerprint import digest, fingerprint
from pipeline.tracking.lineage import IMPORTED, NOT_TRAINED


class ImportedModel(Config):
    """An imported network: its name here, and its folder."""

    name: Name
    path: str


class ImportJob(StageJob):
    """Settings of this stage."""

    given: ImportedModel


@stage
def main(job: ImportJob, out: Path) -> None:
    import_model(job.given.name, Path(job.given.path), output(out, "models", IMPORTED, job.given.name))


def import_model(name: str, source: Path, target: Path) -> None:
    """Convert the model of the folder `source` to a langladder model in `target`, with its provenance."""
    model, tokenizer = read_imported(source)
    kind = type(model).__name__
    inputs = {file: digest(source / file) for file in FILES if (source / file).is_file()}
    about = {"name": name, "title": f"{kind}, {NOT_TRAINED}"}
    known = {"fingerprint": fingerprint("take", about, inputs), "inputs": inputs, "settings": {IMPORTED: about}}
    with atomic_folder(target, OUTPUT) as folder:
        model.save(folder)
        tokenizer.save(folder / "tokenizer.json")
        write_json(folder / "provenance.json", {"format": FORMAT_VERSION, "stage": "take"} | known)
        write_text(folder / "README.md", model_card(folder))
    size = f"{model.number_of_parameters():,} parameters, {model.vocab_size:,} tokens"
    print(f"take {name}: a {kind} from {source} ({size}) → {target}")


if __name__ == "__main__":
    main()
