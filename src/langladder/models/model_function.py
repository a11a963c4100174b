"""A kind of model as a Python function: its input columns, output columns and parameters.

Columns and parameters have the types of MLflow's schemas (https://mlflow.org/docs/latest/ml/model/signatures).
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar

import numpy as np

from langladder.ground.errors import InputError

MOST_CHARACTERS = 100_000  # of a text
Row = dict[str, Any]
Rows = list[Row]
Parameters = Mapping[str, Any]
Model = TypeVar("Model")


class SchemaColumn(NamedTuple):
    """A column of MLflow's schema; `depth`: 0 for a value, 1 for a list, 2 for a list of lists."""

    name: str
    type: str = "string"
    depth: int = 0
    required: bool = True

    def schema(self) -> dict[str, object]:
        """As in MLflow's JSON."""
        schema: dict[str, object] = {"type": self.type}
        for _ in range(self.depth):
            schema = {"type": "array", "items": schema}
        return schema | {"name": self.name, "required": self.required}


class ModelFunction(ABC, Generic[Model]):
    """A loaded model that predicts rows."""

    inputs: ClassVar[tuple[SchemaColumn, ...]]
    outputs: ClassVar[tuple[SchemaColumn, ...]]
    parameters: ClassVar[Parameters] = {}
    """Parameters with their defaults; 0 means no limit for optional limits."""
    row: ClassVar[Row] = {}
    read: ClassVar["staticmethod[[Path], Any]"]
    """Reads the model of a folder, with all that its answers need."""

    def __init__(self, model: Model) -> None:
        self.model = model

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read a saved model.

        Raises:
            InputError: the folder holds another kind, or is damaged.
        """
        return cls(cls.read(folder))

    @classmethod
    def example(cls, folder: Path) -> Row:
        """An example row for the model in a folder; `row` if it works for all models of the kind."""
        del folder
        return cls.row

    @abstractmethod
    def answer(self, rows: Rows, parameters: Parameters) -> Rows:
        """An answer to each row.

        Args:
            parameters: all of the kind's.

        Raises:
            InputError: a row cannot be answered.
        """

    def predict(self, data: Any, params: Parameters | None = None) -> Any:
        """Predict; MLflow calls this.

        Args:
            data: a data frame with the columns `inputs`, a dictionary of columns, or a list of rows. A value if a
                column is expected is one row; a column inside a row, as MLflow makes of dictionaries, is many.
            params: those of `parameters` that differ from the defaults.

        Returns:
            A row of `outputs` for each row: a data frame for a data frame, else a list of dictionaries.

        Raises:
            InputError: a row or a parameter is invalid; a text is too long.
        """
        if strange := sorted((params or {}).keys() - self.parameters.keys()):
            raise InputError(
                f"params: {strange[0]!r} is not supported; allowed: {', '.join(self.parameters) or 'none'}"
            )
        for name, value in (params or {}).items():
            wanted = {bool: bool, int: Integral, float: Real, str: str}[type(self.parameters[name])]
            if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
                raise InputError(f"params: {name}: {value!r:.60} is not of type {type(self.parameters[name]).__name__}")
        frame = hasattr(data, "to_dict") and hasattr(data, "columns")
        rows = [row for record in _records(data, frame) for row in self._spread(record)]
        for number, row in enumerate(rows):
            self._check(number, row)
        answers = self.answer(rows, {**self.parameters, **(params or {})}) if rows else []
        return self._frame(data, answers) if frame else answers

    def _spread(self, record: Row) -> Rows:
        """The rows of a record whose values belong to one row, or are lists for many rows."""
        values: dict[SchemaColumn, Any] = {column: record.get(column.name) for column in self.inputs}
        sizes = {name.name: len(value) for name, value in values.items() if _depth(value) > name.depth}
        if not sizes:
            return [{column.name: value for column, value in values.items()}]
        single = {name.name: 1 for name, value in values.items() if name.name not in sizes and not _is_none(value)}
        if len({*(sizes | single).values()}) > 1:
            lengths = ", ".join(f"{name} has {size:,}" for name, size in (sizes | single).items())
            raise InputError(f"columns of different lengths: {lengths}")
        return [
            {name.name: value[index] if name.name in sizes else value for name, value in values.items()}
            for index in range(next(iter(sizes.values())))
        ]

    def _frame(self, data: Any, answers: Rows) -> Any:
        """The answers as a data frame of the same class, with the index of `data` if it has as many rows."""
        frame = type(data)({output.name: [row[output.name] for row in answers] for output in self.outputs})
        for column in self.outputs:
            if any(row[column.name] is None for row in answers):  # pandas would make it NaN, which is not JSON
                values = np.empty(len(answers), dtype=object)
                values[:] = [row[column.name] for row in answers]
                frame[column.name] = values
        if len(answers) == len(data):
            frame.index = data.index
        return frame

    def _check(self, number: int, row: Row) -> None:
        for column in self.inputs:
            value: Any = row.get(column.name)
            if column.depth:
                if not _is_none(value) and not _depth(value):
                    raise InputError(f"row {number}: {column.name}: {str(value)[:40]!r} is not a list")
                row[column.name] = None if _is_none(value) else list(value)
            elif column.type == "string" and not isinstance(value, str):
                row[column.name] = None
            if column.required and row.get(column.name) is None:
                raise InputError(f"row {number}: {column.name} is missing; needed: {self._wanted()}")
            self._check_texts(f"row {number}: {column.name}", column, row.get(column.name))

    @staticmethod
    def _check_texts(where: str, column: SchemaColumn, value: Any) -> None:
        """Refuse values that are not text in a column of text, long texts, and half characters (lone surrogates)."""
        if column.type != "string" or value is None:
            return
        texts = [value]
        for _ in range(column.depth):
            texts = [text for part in texts for text in part]
        for text in texts:
            if not isinstance(text, str):
                raise InputError(f"{where}: {text!r:.60} is not a text")
            if len(text) > MOST_CHARACTERS:
                raise InputError(f"{where} has {len(text):,} characters of {MOST_CHARACTERS:,}")
            try:
                text.encode()
            except UnicodeEncodeError as error:
                raise InputError(f"{where}: {ascii(text)[:60]} has half a character (a lone surrogate)") from error

    def _wanted(self) -> str:
        return ", ".join(column.name + ("" if column.required else " (or none)") for column in self.inputs)

    @classmethod
    def signature(cls) -> dict[str, str]:
        """As MLflow's `ModelSignature.from_dict` reads it."""
        types = {bool: "boolean", int: "long", float: "double", str: "string"}
        parameters = [
            {"name": name, "type": types[type(value)], "default": value, "shape": None}
            for name, value in cls.parameters.items()
        ]
        columns = {
            "inputs": [column.schema() for column in cls.inputs],
            "outputs": [output.schema() for output in cls.outputs],
        }
        return {
            name: json.dumps(value)
            for name, value in (columns | ({"params": parameters} if parameters else {})).items()
        }


def _records(data: Any, frame: bool) -> Rows:
    """`data` as records by name, each with one row or many (see `ModelFunction._spread`)."""
    if isinstance(data, Mapping):
        return [dict(data)]
    if frame:
        records: Rows = data.to_dict("records")
        return records
    if isinstance(data, list) and all(isinstance(row, Mapping) for row in data):
        return [dict(row) for row in data]
    raise InputError(f"a {type(data).__name__} is not a table; give a data frame, or rows by name")


def _depth(value: object) -> int:
    """The depth of nested lists: 0 for a value."""
    if not isinstance(value, list | tuple | np.ndarray):
        return 0
    return 1 + max((_depth(entry) for entry in value), default=0)


def _is_none(value: object) -> bool:
    """Whether a value is missing, such as NaN in a data frame."""
    return value is None or isinstance(value, float)
