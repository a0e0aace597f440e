"""Running tests on the emulation: fixtures of the reference's suites, and tests over real ranks. `tt_run.pytest` is the door."""
