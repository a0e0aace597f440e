"""What became of a run: which rank began it, and why."""
