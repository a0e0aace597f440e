"""The pytest plugin: `pytest -p tt_run.pytest` runs tests that import `ttnn` on the emulation, without hardware.

It puts the emulated `ttnn` and `ttml` on the path of this process, brings the fixtures that the reference's own test suites use
(`device`, `mesh_device`, `t3k_mesh_device`, …; a conftest's own go first), and runs tests marked `@pytest.mark.ranks(4)` over
real MPI ranks, reported as one test. Under `tt-run --emulate … pytest` every rank is one of these processes.
"""

from __future__ import annotations

from contextlib import suppress

from tt_run.testing import shims

with suppress(RuntimeError):  # another ttnn is loaded already: told when pytest begins
    shims.activate()  # plugins that are named behind this one may import ttnn while they load

pytest_plugins = ["tt_run.testing.plugin", "tt_run.testing.device_fixtures", "tt_run.testing.fixtures"]
