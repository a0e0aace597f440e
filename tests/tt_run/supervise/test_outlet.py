"""Writing for somebody who reads late, or not at all."""

from __future__ import annotations

import io
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.jobs import until
from tests.e2e.launch import environment
from tests.sweep import sweep
from tt_run.supervise.output.outlet import Outlet, Unread, Words

MUCH = b"".join(b"%07d\n" % number for number in range(40_000))
# More than a pipe holds, and then on and on, but not as fast as a disk takes it.
PRINTS = """
import time
print(f"{'x' * 1000}\\n" * 2000, flush=True)
while True:
    print("x" * 1000, flush=True)
    time.sleep(0.01)
"""


@pytest.fixture
def ends() -> Iterator[tuple[int, io.BufferedWriter]]:
    """A pipe: where to read, and what to write to."""
    reading, writing = os.pipe()
    stream = os.fdopen(writing, "wb")
    yield reading, stream
    stream.close()
    os.close(reading)


def taken(reading: int) -> bytes:
    os.set_blocking(reading, False)
    found = b""
    try:
        while piece := os.read(reading, 1 << 16):
            found += piece
    except BlockingIOError:
        pass
    return found


def test_what_nobody_takes_is_kept_in_order(ends: tuple[int, io.BufferedWriter]) -> None:
    reading, stream = ends
    outlet = Outlet(stream)
    outlet.write(MUCH)
    outlet.flush()
    assert outlet.behind and not outlet.is_free
    found = b""
    while outlet.behind:
        found += taken(reading)
        outlet.flush()
    assert found + taken(reading) == MUCH and outlet.is_free
    assert os.get_blocking(stream.fileno())  # which others share


def test_own_words_come_after_what_is_left_of_others(ends: tuple[int, io.BufferedWriter]) -> None:
    reading, stream = ends
    outlet = Outlet(stream)
    said: list[str] = []
    words = Words(outlet, said.append)
    words.say("first")
    outlet.write(MUCH)
    outlet.flush()
    words.say("second")
    assert said == ["first"]
    while outlet.behind:
        taken(reading)
        outlet.flush()
    words.say("third")
    assert said == ["first", "second", "third"]


def test_a_reader_that_is_gone_is_an_error_once() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as stream:
        outlet = Outlet(stream)
        outlet.write(b"words")
        with pytest.raises(BrokenPipeError):
            outlet.flush()
        assert not outlet.behind
        outlet.close(0)


def test_a_file_takes_all_at_once(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as stream:
        outlet = Outlet(stream)
        outlet.write(MUCH)
        outlet.flush()
        assert not outlet.behind and (tmp_path / "file").read_bytes() == MUCH


@pytest.mark.parametrize("ended_by", ["a signal", "its time"])
def test_a_run_whose_output_nobody_takes_ends_when_it_is_to(tmp_path: Path, ended_by: str) -> None:
    """As behind a pager, or in a terminal that Ctrl-S has stopped."""
    program = f"import os\nopen(f'{{os.getpid()}}.pid', 'w').close()\n{PRINTS}"
    words = ["--timeout", "3"] if ended_by == "its time" else []
    launch = subprocess.Popen(
        ["tt-run", "--emulate", "--system", "n300", "--split", "1x2", *words, "--log-dir", "run", "python", "-c", program],
        cwd=tmp_path,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    assert launch.stdout is not None and launch.stderr is not None
    try:
        until(lambda: len([*tmp_path.glob("*.pid")]) == 2, what="the ranks")
        until(
            lambda: (tmp_path / "run" / "rank-0001.out").stat().st_size > 1 << 20,
            what="more than a pipe holds",
        )
        if ended_by == "a signal":
            launch.send_signal(signal.SIGTERM)
        ranks = [path.stem for path in tmp_path.glob("*.pid")]
        until(lambda: not any(Path("/proc", rank).exists() for rank in ranks), what="the end of the ranks")
    finally:
        for rank in tmp_path.glob("*.pid"):
            subprocess.run(["kill", "-9", rank.stem], capture_output=True, check=False)
        out, err = launch.communicate(timeout=60)
    assert launch.returncode == (143 if ended_by == "a signal" else 124), err
    assert out.startswith(b"[") and b"exit code" in err


@pytest.mark.parametrize(
    ("shared", "ended_by"),
    sweep(
        [
            pytest.param(shared, ended_by, id=f"{'both streams' if shared else 'standard output'}-{ended_by}")
            for shared in (False, True)
            for ended_by in ("a signal", "its time")
        ],
        quick=["standard output-a signal", "both streams-its time"],
    ),
)
def test_tt_run_itself_does_not_wait_either(tmp_path: Path, shared: bool, ended_by: str) -> None:
    words = ["--timeout", "3"] if ended_by == "its time" else []
    reading, writing = os.pipe()
    with (tmp_path / "err").open("wb") as err:
        launch = subprocess.Popen(
            ["tt-run", "--emulate", "--system", "n300", "--split", "1x2", *words, "--log-dir", "run", "python", "-c", PRINTS],
            cwd=tmp_path,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=writing,
            stderr=writing if shared else err,
        )  # fmt: skip
    try:
        log = tmp_path / "run" / "rank-0001.out"
        until(lambda: log.exists() and log.stat().st_size > 1 << 20, what="more than a pipe holds")
        if ended_by == "a signal":
            launch.send_signal(signal.SIGTERM)
        assert launch.wait(timeout=40) == (143 if ended_by == "a signal" else 124)
    finally:
        launch.kill()
        launch.wait()
        os.close(reading)
        os.close(writing)
    said = (tmp_path / "err").read_text()
    told = f"tt-run: nobody reads standard output: what was not shown is in {tmp_path}/run"
    assert (told in said, "exit code" in said) == ((False, False) if shared else (True, True))


def test_what_is_not_taken_is_dropped(ends: tuple[int, io.BufferedWriter]) -> None:
    reading, writing = ends
    text = io.TextIOWrapper(writing, encoding="utf-8")
    stream = Unread.in_place_of(text)
    stream.write("ä" * 10)
    stream.write("x" * len(MUCH))
    print("lost", file=stream, flush=True)
    found = taken(reading)
    assert found.startswith(("ä" * 10 + "x").encode()) and b"lost" not in found
    print("seen", file=stream, flush=True)
    assert taken(reading) == b"seen\n"
    text.detach()
