"""Truth sets."""
from pathlib import Path
from langladder.corpora.world import World
def write(world: World, counts: dict[str, int], seed: int, folder: Path) -> None:
    raise NotImplementedError
