"""A kind of model as a python function: which columns it reads, which it answers with, what can be asked of it.

Columns and parameters have the types of MLflow's schemas (https://mlflow.org/docs/latest/ml/model/signatures).
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

from langladder.errors import InputError

MOST_CHARACTERS = 100_000  # of a text
Rows = list[dict[str, Any]]


class Column(NamedTuple):
    """A column of MLflow's schema; `depth` lists around the type: 0 a value, 1 a list, 2 a list of lists."""

    name: str
    type: str = "string"
    depth: int = 0
    required: bool = True

    def schema(self) -> dict[str, Any]:
        """As MLflow's JSON has it."""
        found: dict[str, Any] = {"type": self.type}
        for _ in range(self.depth):
            found = {"type": "array", "items": found}
        return found | {"name": self.name, "required": self.required}


class Kind(ABC):
    """A loaded model that answers rows."""

    reads: ClassVar[tuple[Column, ...]]
    gives: ClassVar[tuple[Column, ...]]
    asks: ClassVar[Mapping[str, Any]] = {}
    """Parameters with their defaults; 0 stands for none where a bound may be absent."""

    @classmethod
    @abstractmethod
    def load(cls, folder: Path) -> Self:
        """Read a saved model.

        Raises:
            InputError: the folder holds another kind, or is damaged.
        """

    @classmethod
    @abstractmethod
    def example(cls, folder: Path) -> dict[str, Any]:
        """A row that the model in a folder can answer."""

    @abstractmethod
    def answer(self, rows: Rows, asked: dict[str, Any]) -> Rows:
        """An answer to each row.

        Args:
            asked: all of the kind's parameters.

        Raises:
            InputError: a row cannot be answered.
        """

    def predict(self, data: Any, params: Mapping[str, Any] | None = None) -> Rows:
        """What MLflow calls.

        Args:
            data: a data frame with the columns `reads`, a dictionary of columns, or a list of rows.
            params: those of `asks` that shall differ.

        Raises:
            InputError: a row or a parameter is not as it should be; a text is too long.
        """
        if strange := sorted((params or {}).keys() - self.asks.keys()):
            raise InputError(
                f"params: {strange[0]!r} is none of {', '.join(self.asks) or 'those, of which there are none'}"
            )
        rows = _rows(data)
        for number, row in enumerate(rows):
            self._check(number, row)
        return self.answer(rows, {**self.asks, **(params or {})}) if rows else []

    def _check(self, number: int, row: dict[str, Any]) -> None:
        for column in self.reads:
            value = row.get(column.name)
            if column.depth:
                # NaN stands for nothing in a data frame
                row[column.name] = None if value is None or isinstance(value, float) else list(value)
            elif column.type == "string" and not isinstance(value, str):
                row[column.name] = None
            if column.required and row.get(column.name) is None:
                raise InputError(f"row {number}: {column.name} is missing; it wants {self._wanted()}")
            if isinstance(value, str) and len(value) > MOST_CHARACTERS:
                raise InputError(f"row {number}: {column.name} has {len(value):,} characters of {MOST_CHARACTERS:,}")

    def _wanted(self) -> str:
        return ", ".join(column.name + ("" if column.required else " (or none)") for column in self.reads)

    @classmethod
    def signature(cls) -> dict[str, str]:
        """As MLflow's `ModelSignature.from_dict` reads it."""
        types = {bool: "boolean", int: "long", float: "double", str: "string"}
        asks = [
            {"name": name, "type": types[type(value)], "default": value, "shape": None}
            for name, value in cls.asks.items()
        ]
        found = {"inputs": [column.schema() for column in cls.reads], "outputs": [one.schema() for one in cls.gives]}
        return {name: json.dumps(value) for name, value in (found | ({"params": asks} if asks else {})).items()}


def _rows(data: Any) -> Rows:
    """Rows by name, whatever they came as."""
    if isinstance(data, Mapping):
        names, columns = list(data), [list(column) for column in data.values()]
        return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]
    if hasattr(data, "to_dict"):  # a data frame
        return [dict(row) for row in data.to_dict("records")]
    if isinstance(data, list) and all(isinstance(row, Mapping) for row in data):
        return [dict(row) for row in data]
    raise InputError(f"a {type(data).__name__} is no table; give a data frame, or rows by name")
