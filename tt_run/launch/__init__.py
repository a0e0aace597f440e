"""A plan made real: the words for Open MPI, the wrapper that gives each rank its environment, and what keeps hold of their processes."""
