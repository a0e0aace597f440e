"""Predicted time of a run: the event stream turned into work, the work into time on the hardware, and that into a report.

A listener like ledger and timeline: it never touches values or order. Switched on by TT_RUN_PREDICT (`tt-run --predict[=FILE]`).
"""
