"""The command `mgd` from start to end, and all shipped systems in one process."""

from __future__ import annotations

import shutil
import sys
import time

from mgd.resources import configs_root
from mgd.systems import find
from tests.bench.common import Row, children_cpu, command, paired, skipped

CHECK_RATIO = 2.5  # of a process that only imports the two libraries that the format's ordinary readers need
ALL_SYSTEMS_SECONDS = 2.0


def run() -> list[Row]:
    return [_one_file(), _all_systems()]


def _one_file() -> Row:
    """`mgd check` of one ordinary file, process start included, in CPU time: the cores are shared."""
    name = "mgd check FILE / import yaml, google.protobuf"
    script = shutil.which("mgd", path=str(sys.prefix) + "/bin") or shutil.which("mgd")
    if script is None:
        return skipped(name, CHECK_RATIO, "the command mgd is not installed")
    cached = {"PYTHONDONTWRITEBYTECODE": ""}  # as installed: byte code is kept between runs
    ours = command([script, "check", str(find("t3000").path)], env=cached)
    peer = command([sys.executable, "-c", "import yaml, google.protobuf"], env=cached)
    times = paired(ours, peer, rounds=15, clock=children_cpu)
    return Row(name, times.ratio, CHECK_RATIO, detail=times.detail("mgd check", "imports"))


def _all_systems() -> Row:
    """Read and check every shipped descriptor in this process, as `mgd check configs/mgd` does."""
    from mgd.checking import check
    from mgd.reading import load

    files = sorted((configs_root() / "mgd").glob("*.textproto"))

    def check_all() -> None:
        for file in files:
            if any(each.is_error for each in check(load(file))):
                raise AssertionError(f"{file} is rejected")

    check_all()
    started = time.perf_counter()
    check_all()
    seconds = time.perf_counter() - started
    detail = f"{len(files)} systems in {seconds * 1e3:.0f} ms, limit {ALL_SYSTEMS_SECONDS:g} s"
    return Row("all shipped systems / 2 s", seconds / ALL_SYSTEMS_SECONDS, 1.0, detail=detail)
