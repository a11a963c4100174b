"""One LightningModule per task, never one per network."""

from langladder import placeholders

placeholders.put_all()
