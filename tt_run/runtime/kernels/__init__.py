"""What computes: functions of arrays, on NumPy and BLAS, with the same bits on any split and for any number of threads.

Nothing here knows of tensors or meshes; operations (`tt_run.runtime.ops`) and collectives (`tt_run.runtime.ccl`) call it.
"""
