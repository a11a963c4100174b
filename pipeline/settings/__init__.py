"""What the stages share: composing and checking settings, the entry point, fingerprints, runs in MLflow."""
