"""One LightningModule a task, never one a network."""
