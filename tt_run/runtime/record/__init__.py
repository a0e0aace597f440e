"""What crossed into a rank, written down while it runs, and read back to run that rank alone: record, replay, and what two records differ in.

`frames` is the file, `arrays` the values in it, `facts` what a call is called; `recording` writes and `replaying` reads, and `ranks` is
the `World` of both. Whatever passes between ranks comes here through the methods of its groups, or as the result of a collective
(`tt_run.runtime.comm.record_hook`).
"""
