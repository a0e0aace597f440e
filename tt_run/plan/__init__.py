"""tt_run/plan."""
