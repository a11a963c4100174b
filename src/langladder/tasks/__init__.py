"""One LightningModule per task, never one per network."""
