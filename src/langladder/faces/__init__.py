"""The ways in which people and programs reach the models: command line, HTTP, explorer, MLflow, report."""
