"""Predicted time: hardware data files -> cost of an operation, of a collective on actual links -> a run's time and what bounds it.

Nothing here touches values or order, MPI or the mesh: numbers come from `configs/hardware/*.yaml` (or the user's own file), workloads
come in as small value objects, and what comes out says what bounds it. `python -m tt_run.runtime.model.validation.validate` is the command behind
`tt-run validate-model`; the launcher starts it as a process of its own, because launcher and runtime never import each other.
"""
