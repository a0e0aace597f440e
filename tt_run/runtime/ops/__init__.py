"""tt_run.runtime.ops."""
