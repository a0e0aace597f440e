"""The emulation: real ranks that each hold a part of a mesh and compute true numbers.

Floors, each standing on those before: ranks (`comm`, `guard`), numbers (`values`, `kernels`), devices (`mesh`), tensors (`tensor`),
operations (`ops`, `ccl`, `sockets`, `trace`), training (`train`). `tests/test_architecture.py` lists every part.
"""
