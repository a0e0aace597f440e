"""tt_run/cli."""
