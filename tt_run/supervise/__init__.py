"""tt_run/supervise."""
