"""Watching a run: deadlines, signals, logs, the first failure, the verdict. No process outlives it."""
