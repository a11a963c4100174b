"""Every model as an MLflow Python function, in an environment with only the wheel.

MLflow imports this package by its name, which its MLmodel file gives as `loader_module`, and calls `_load_pyfunc`. The
result has `predict(data, params)`; MLflow checks the columns of rows against the signature. The package itself does not
import MLflow: data and answers are rows by name.
"""

from langladder.faces.mlflow.functions import load as _load_pyfunc

__all__ = ["_load_pyfunc"]
