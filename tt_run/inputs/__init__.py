"""tt_run/inputs."""
