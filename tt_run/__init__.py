"""tt_run."""
