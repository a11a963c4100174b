"""Every model as an MLflow Python function, in an environment with only the wheel.

MLflow imports this package by its name, which its MLmodel file gives as `loader_module`, and calls `_load_pyfunc`. What
it gets answers `predict(data, params)`; that rows have the columns of the signature MLflow has seen to. The package
itself imports nothing of MLflow: data are rows by name, answers too.
"""

from langladder.faces.mlflow.functions import load as _load_pyfunc

__all__ = ["_load_pyfunc"]
