"""Stage `transfer_reader`: train a reader whose body is another rung's network."""

from pathlib import Path
from typing import Any

from pipeline.provenance.made_reader import train
from pipeline.settings.stage import stage


@stage
def main(job: Any, out: Path) -> None:
    base = Path("models") / job.reader_transfer.base
    train(job, out, family="reader_transfer", stage="transfer_reader", base=base)


if __name__ == "__main__":
    main()
