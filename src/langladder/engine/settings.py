"""The settings of engines, and the engine of some settings."""

import re
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from langladder.engine.base import Engine, Local, Serial
from langladder.ground.schema import Config

UNITS = {"MB": 10**6, "GB": 10**9, "TB": 10**12, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
MOST = 1000 * UNITS["TB"]

Workers = Annotated[int, Field(ge=1, le=100_000)] | Literal["auto"]  # auto: as many as this machine has processors


class AdaptiveConfig(Config):
    """Workers that Dask starts and stops with the amount of work (`Cluster.adapt`)."""

    minimum: int = Field(default=1, ge=0, le=100_000)
    maximum: int = Field(ge=1, le=100_000)

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.minimum > self.maximum:
            raise ValueError(f"minimum: {self.minimum} is above maximum: {self.maximum}")
        return self


class LocalConfig(Config):
    """Processes of this machine."""

    kind: Literal["local"]
    workers: Workers = "auto"


class DaskConfig(Config):
    """A Dask cluster: the one at `address`, else one that is started."""

    kind: Literal["dask"]
    address: str | None = Field(default=None, pattern=r"^\w+://.+")
    cluster: Literal["processes", "ssh", "slurm", "kubernetes"] = "processes"
    workers: Annotated[
        Annotated[Workers, Tag("number")] | Annotated[AdaptiveConfig, Tag("adaptive")],
        Discriminator(lambda value: "adaptive" if isinstance(value, dict | AdaptiveConfig) else "number"),
    ] = "auto"
    options: dict[str, Any] = Field(default_factory=dict)  # of Dask's class for that kind of cluster


AnyEngine = Annotated[LocalConfig | DaskConfig, Field(discriminator="kind")]


def bytes_of(memory: str) -> int:
    """`4GB` → 4,000,000,000; `4GiB` → 4,294,967,296.

    Raises:
        ValueError: it is no such amount.
    """
    match = re.fullmatch(rf"(\d{{1,9}}(?:\.\d{{1,9}})?) ?({'|'.join(UNITS)})", memory)
    amount = int(float(match[1]) * UNITS[match[2]]) if match else 0
    if not UNITS["MB"] <= amount <= MOST:
        raise ValueError(
            "must be an amount of memory from 1MB to 1000TB, such as 4GB, 500MB or 1.5GiB, or null for no limit"
        )
    return amount


def _is_amount(memory: str) -> str:
    bytes_of(memory)
    return memory


Memory = Annotated[str, AfterValidator(_is_amount)]


def open_engine(config: LocalConfig | DaskConfig, memory: str | None, processors: int) -> Engine:
    """The engine of these settings; Dask's is connected or started now, processes of this machine when needed.

    Raises:
        InputError: the cluster is not available.
    """
    least = config.workers.minimum if isinstance(config.workers, AdaptiveConfig) else None
    most = config.workers.maximum if isinstance(config.workers, AdaptiveConfig) else config.workers
    workers = processors if most == "auto" else most
    granted = bytes_of(memory) if memory else None
    if isinstance(config, LocalConfig):
        return Local(workers, granted) if workers > 1 else Serial(memory=granted)
    from langladder.engine import dask

    if config.address:
        return dask.connect(config.address, granted)
    return dask.start(config.cluster, workers, dict(config.options), granted, least=least)
