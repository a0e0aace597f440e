"""tt_run.runtime.tensor."""
