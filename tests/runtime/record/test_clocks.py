"""Readings of clocks, written down and read back, and the classes that stand in for those of `datetime`."""

from __future__ import annotations

import datetime
import pickle
import time
from pathlib import Path

from tests.e2e.launch import tt_run
from tt_run.runtime.record.clocks import CLOCKS, Replayed, Written, _calendars


def test_readings_come_back_in_the_order_of_each_clock() -> None:
    written = Written()
    said = [
        (name, written.reading(CLOCKS.index(name), getattr(time, name)))
        for name in ("time", "time_ns", "time", "perf_counter")
    ]
    replayed = Replayed(written.take())
    assert written.take() == b""
    for name in ("time_ns", "perf_counter", "time", "time"):
        first = next(each for each in said if each[0] == name)
        said.remove(first)
        assert replayed.reading(CLOCKS.index(name), getattr(time, name)) == first[1]


def test_after_the_last_reading_time_goes_on_from_there() -> None:
    written = Written()
    written.reading(0, lambda: 1000.0)
    replayed = Replayed(written.take())
    assert replayed.reading(0, lambda: 5.0) == 1000.0
    assert replayed.reading(0, lambda: 7.5) == 1002.5


def test_calendars_look_like_the_originals() -> None:
    moment, day = _calendars(lambda: 86_400.0 * 365)
    assert moment.now(datetime.timezone.utc).isoformat() == "1971-01-01T00:00:00+00:00"
    assert moment.utcnow() == datetime.datetime(1971, 1, 1)
    assert repr(moment(2026, 1, 2)) == "datetime.datetime(2026, 1, 2, 0, 0)"
    assert isinstance(datetime.datetime(2026, 1, 2), moment) and issubclass(datetime.datetime, moment)
    assert isinstance(day.today(), datetime.date) and not isinstance(3, day)
    assert pickle.loads(pickle.dumps(datetime.datetime(2026, 1, 2))) == moment(2026, 1, 2)


PROGRAM = """
import logging, sys, time
logging.basicConfig(stream=sys.stdout, format="%(asctime)s %(message)s")
logging.warning("from a formatter, which holds a clock as its attribute")
class Timer:
    clock, moment = time.perf_counter, time.clock_gettime_ns
    def both(self):
        return self.clock(), self.moment(time.CLOCK_REALTIME)
print(*Timer().both(), time.clock_gettime(time.CLOCK_MONOTONIC))
import os, resource
print(os.times(), os.times().user, resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
import random
random.seed()
print(random.random())
began = time.gmtime(0)
print(time.strftime("%Y %H:%M:%S"), time.asctime(), "and", time.strftime("%Y", began), time.asctime(began))
"""


def test_a_program_whose_classes_hold_clocks_and_that_sows_anew(tmp_path: Path) -> None:
    """Clocks and chance stand in classes as functions of C do: they are no methods."""
    program, record, logs = tmp_path / "program.py", tmp_path / "record", tmp_path / "logs"
    program.write_text(PROGRAM + "import ttnn\nttnn.open_mesh_device(ttnn.MeshShape(1, 1))\n")
    ran = tt_run("--emulate", "--record", record, "--log-dir", logs, "python", program, cwd=tmp_path).check()
    assert "Error" not in ran.err and "which holds a clock" in ran.out
    assert "and 1970 Thu Jan  1 00:00:00 1970" in ran.out  # a moment that is given is that moment
    again = tt_run("replay", record, cwd=tmp_path).check()
    assert again.out == (logs / "rank-0000.out").read_text()
