"""Data of fine-tuning: batches as models take them, what makes them of examples, and loaders that go through a set."""
