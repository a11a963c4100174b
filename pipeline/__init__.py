"""The stages of the DAG: the only place that knows Hydra, DVC and MLflow."""
