"""Find the MLflow run of an artefact, and the artefact of a run, by the job's fingerprint."""

from pathlib import Path

import click

from langladder.ground.errors import InputError, printable
from pipeline import ROOT
from pipeline.tracking import lineage, store
from pipeline.tracking.store import find_runs, provenances

TRAINING = "workflowType=machine_learning"  # MLflow's view of runs; the other view is for prompts and traces


class Group(click.Group):
    """Command group that reports an error of the store in one sentence."""

    def invoke(self, context: click.Context) -> object:
        """Run a command."""
        try:
            return super().invoke(context)
        except InputError as error:
            click.echo(f"runs: {error}", err=True)
            context.exit(2)


@click.group(cls=Group, help=__doc__)
def main() -> None:
    """Entry point."""


@main.command()
def uri() -> None:
    """Print the tracking store, after ending the runs whose process has died."""
    store.client()
    click.echo(store.uri())


@main.command()
def prepare() -> None:
    """Make the tracking store, so that the first tracked stage need not wait for it."""
    store.prepare()


@main.command()
@click.argument("address", default="http://127.0.0.1:5000")
def links(address: str) -> None:
    """Print links to each experiment's runs in the UI at ADDRESS.

    Without the end of these links, MLflow shows prompts and traces of an experiment, and there are none.
    """
    experiments = store.used()
    click.echo(
        "Choose 'Model training' at the top left once: MLflow opens with prompts and traces, and remembers your choice."
    )
    for name, experiment in experiments.items():
        click.echo(f"{name:16} {address}/#/experiments/{experiment}/runs?{TRAINING}")


@main.command()
@click.argument("artefact", type=click.Path(exists=True, file_okay=False, path_type=Path))
def of(artefact: Path) -> None:
    """Print the runs that made ARTEFACT, e.g. models/lm/lstm; the most complete first, then the newest."""
    fingerprint = lineage.provenance(artefact).fingerprint
    runs = find_runs(fingerprint)
    for run in runs:
        click.echo(
            f"{run.info.run_id}  {run.info.run_name}  "
            f"#/experiments/{run.info.experiment_id}/runs/{run.info.run_id}?{TRAINING}"
        )
    if not runs:
        restore = store.in_bin(fingerprint)
        where = f"in MLflow's bin; bring it back with `{restore}`" if restore else "(made on another machine?)"
        raise click.ClickException(f"no run with fingerprint {fingerprint} in {store.public_uri()} {where}")


@main.command()
@click.argument("run_id")
def artefact(run_id: str) -> None:
    """Print the folder of the artefact that run RUN_ID made or evaluated."""
    from mlflow.exceptions import MlflowException

    client = store.client()
    try:
        run = client.get_run(run_id)
    except MlflowException as error:
        raise click.ClickException(f"no run {run_id!r} in {store.public_uri()}") from error
    artefacts = provenances(ROOT)
    tags = (run.data.tags.get(name, "") for name in ("fingerprint", "model_fingerprint"))
    path = next((artefacts[tag] for tag in tags if tag in artefacts), None)
    if path is None:
        raise click.ClickException(f"no artefact of run {run_id} here (overwritten, or never made in this checkout)")
    click.echo(path.relative_to(ROOT))


@main.command("register")
@click.argument("artefact", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--name", help="Name in the registry  [default: family and rung, such as lm-gpt].")
@click.option("--alias", help="Alias to move to this version, e.g. champion.")
def register_model(artefact: Path, name: str | None, alias: str | None) -> None:
    """Register a copy of ARTEFACT, e.g. models/lm/gpt, in MLflow, to load and serve it where the wheel is installed."""
    from pipeline.tracking.models import register

    registered = register(artefact, name, alias)
    address = f"models:/{registered.name}" + (f"@{alias}" if alias else f"/{registered.version}")
    click.echo(f"{registered.name}, version {registered.version}, of run {registered.run_id}")
    click.echo(f"export MLFLOW_TRACKING_URI={store.public_uri()}")
    click.echo(f"mlflow models serve -m {address} --env-manager local    # or mlflow.pyfunc.load_model('{address}')")


@main.command("lineage")
@click.argument("artefact", type=click.Path(exists=True, file_okay=False, path_type=Path))
def lineage_of(artefact: Path) -> None:
    """Print the lineage of ARTEFACT, e.g. models/tune/gpt_longer: the rungs it started from, down to the corpus."""
    chain = lineage.chain(artefact)
    for teacher in lineage.provenance(artefact).beside[:1]:
        click.echo(printable(f"learnt from {teacher['rung']}  {teacher['title']}  {teacher['fingerprint']}"))
    for depth, rung in enumerate(chain):
        prefix = "starts from " if depth else ""
        click.echo(printable(f"{'  ' * depth}{prefix}{rung['rung']}  {rung['title']}  {rung['fingerprint']}"))
        for name, digest in rung["inputs"].items():
            click.echo(printable(f"{'  ' * depth}  read {name}  {digest}"))
    for line in lineage.data_behind(chain[-1]["rung"].partition("/")[0], ROOT):
        click.echo(f"{'  ' * len(chain)}{line}")


if __name__ == "__main__":
    main()
