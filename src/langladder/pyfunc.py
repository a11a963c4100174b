"""The loader that models logged to MLflow by earlier versions name; it is `langladder.faces.mlflow` now."""

from langladder.faces.mlflow import _load_pyfunc as _load_pyfunc
