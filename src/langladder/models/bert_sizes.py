"""The BERTs of the papers, by name: Devlin et al. 2019 (base, large), Turc et al. 2019, table 1 (the smaller ones).

`preset: mini` among a BERT's settings stands for these; what is set beside it wins. The vocabulary is that of the
tokenizer: the papers' WordPiece has 30,522 entries, its five specials included.

Counts are of all parameters with both heads, the tied output matrix once:

    embeddings   (V + C + 2) D + 2 D
    layers       N (12 D² + 13 D)
    pooler, NSP  D² + D + 2 D + 2
    MLM          D² + D + 2 D + V

The papers round these: 4.4, 11.3, 29.1, 41.7, 110.1 million. (Devlin et al. say 110 and 340 million.)

Shape legend: V vocabulary, C context, D width, N layers.
"""

from typing import Any


def _size(layers: int, width: int) -> dict[str, Any]:
    return {"context": 512, "width": width, "layers": layers, "heads": width // 64, "dropout": 0.1}


PRESETS: dict[str, dict[str, Any]] = {
    "tiny": _size(2, 128),
    "mini": _size(4, 256),
    "small": _size(4, 512),
    "medium": _size(8, 512),
    "base": _size(12, 768),
    "large": _size(24, 1024),
}
