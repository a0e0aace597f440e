"""tt_run/launch."""
