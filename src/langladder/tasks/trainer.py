"""What Lightning's Trainer is told of the processes that train together (`devices`), and of where checkpoints go."""

from typing import Any

from lightning_fabric.plugins.environments.cluster_environment import ClusterEnvironment
from lightning_fabric.plugins.environments.lightning import LightningEnvironment
from pytorch_lightning.strategies import DDPStrategy

from langladder.ground.ranks import address, ranks
from langladder.tasks.checkpoints import SafetensorsCheckpointIO
from langladder.tasks.devices import on_gpu
from langladder.tasks.optimisation import TrainingConfig
from langladder.tasks.sharding import Sharded


class Started(ClusterEnvironment):
    """Processes that somebody has started, see `ranks`."""

    @property
    def creates_processes_externally(self) -> bool:
        """Always."""
        return True

    @property
    def main_address(self) -> str:
        """See `ranks.address`."""
        return address()[0]

    @property
    def main_port(self) -> int:
        """See `ranks.address`."""
        return address()[1]

    @staticmethod
    def detect() -> bool:
        """Whether there are others."""
        return ranks().size > 1

    def world_size(self) -> int:
        """All processes."""
        return ranks().size

    def set_world_size(self, size: int) -> None:
        """Lightning's own count, which agrees."""

    def global_rank(self) -> int:
        """This one's number among all."""
        return ranks().rank

    def set_global_rank(self, rank: int) -> None:
        """Lightning's own count, which agrees."""

    def local_rank(self) -> int:
        """This one's number on its machine."""
        return ranks().local_rank

    def node_rank(self) -> int:
        """Its machine's number."""
        return ranks().rank // ranks().local_size


def trainer_settings(config: TrainingConfig) -> dict[str, Any]:
    """What Lightning's Trainer is told of the processes and of where checkpoints go."""
    own, files = ranks(), SafetensorsCheckpointIO()
    if own.size == 1:
        return {"accelerator": config.accelerator, "devices": 1, "plugins": [files, LightningEnvironment()]}
    # A batch need not touch every parameter on every process. Buffers are constants.
    kind = Sharded if config.strategy == "fsdp" else DDPStrategy
    strategy = kind(find_unused_parameters=True, broadcast_buffers=False)
    return {
        "accelerator": "gpu" if on_gpu(config) else "cpu",
        "devices": own.local_size,
        "num_nodes": own.nodes,
        "strategy": strategy,
        "plugins": [files, Started()],
        "use_distributed_sampler": False,
    }
