"""Every model of the house as one of MLflow's python functions, in an environment that has nothing but the wheel.

MLflow imports this package by its name, which its MLmodel file gives as `loader_module`, and calls `_load_pyfunc`. What
it gets answers `predict(data, params)`; that rows have the columns of the signature MLflow has seen to. The package
itself imports nothing of MLflow: data are rows by name, answers too.
"""

from langladder.faces.mlflow.functions import load as _load_pyfunc

__all__ = ["_load_pyfunc"]
