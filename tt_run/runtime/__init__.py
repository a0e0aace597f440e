"""tt_run/runtime."""
