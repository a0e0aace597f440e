"""`ttml.distributed`: an operation whose operands lie over a mesh, by a rule that says how they must lie and what is summed or gathered."""
