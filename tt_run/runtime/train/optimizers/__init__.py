"""Optimizers and learning-rate schedulers (ttml specification, section 7)."""
