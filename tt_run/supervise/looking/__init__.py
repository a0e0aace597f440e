"""Looking at a run from outside: which runs there are, their stacks, and who waits."""
