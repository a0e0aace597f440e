"""Captured graphs as a database that `ttnn-visualizer` opens: what was captured is read (`functions.py`), told as operations with their
tensors and buffers (`operations.py`, `buffers.py`) and written as rows of tables (`schema.py`, `rows.py`), from reports of one rank or
of all (`importing.py`). `pytest_fixture.py` does it for tests.
"""
