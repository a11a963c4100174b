"""A process of its own that places words on a plane: python -m langladder.faces.explorer.map_process METHOD FOLDER

It reads `rows.safetensors` of the folder, (W, D) vectors, writes `points.safetensors`, (W, 2), and prints how far it
is. Being a process, it takes no time from the server's, and what it held is given back when it ends.
"""

import sys
from pathlib import Path
from typing import cast

from langladder.embeddings.base import WordVectors
from langladder.evaluation.maps import MapMethod, word_map
from langladder.ground import artefacts


def main(method: MapMethod, folder: Path) -> None:
    """What the process does."""
    rows = artefacts.read_arrays(folder / "rows.safetensors")["rows"]
    words = [str(row) for row in range(len(rows))]
    found = word_map(WordVectors(words, rows), words, method, verbose=True)
    artefacts.write_arrays(folder / "points.safetensors", {"points": found.points})


if __name__ == "__main__":
    main(cast(MapMethod, sys.argv[1]), Path(sys.argv[2]))
