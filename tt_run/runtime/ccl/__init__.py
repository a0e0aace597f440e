"""tt_run.runtime.ccl."""
