"""The ranks of the job: who they are (`world`), groups of them, bytes and shared memory between them, and waiting for them to come.

Raw: no deadline and no agreement check once MPI runs; `tt_run.runtime.guard` adds both.
"""
