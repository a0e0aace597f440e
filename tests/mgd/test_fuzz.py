"""Nothing that a file can hold gives a traceback, a hang or runaway memory: bytes of real files, damaged at random."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from types import FrameType

import pytest

from mgd.authoring.layout import formatted
from mgd.checking import check
from mgd.diagnostics import Severity, render
from mgd.errors import MgdError
from mgd.expanding.instances import expand_checked
from mgd.facts import summary
from mgd.reading import loads
from mgd.resources import configs_root
from mgd.text.tree import BadTree
from mgd.v1 import loads as loads_v1
from tests.mgd.fixtures import RULE_FOLDERS

FINDS = RULE_FOLDERS.parent / "fuzz-finds" / "mgd"
LONGEST = 20_000  # bytes; the large fixtures take their time for good reasons
DEADLINE = 60  # seconds for one input, on a machine that does other things too
PIECES = [
    b"{", b"}", b"<", b">", b"[", b"]", b":", b",", b'"', b"'", b"#", b"\\", b"\0", b"\xff", b"\xef\xbb\xbf", b"\r\n", b"-", b"0x", b"99999999999",
    b"2147483647", b"-1", b"0", b"RING", b"dims", b"mesh", b"graph", b"sub_ref", b"nodes", b"&a", b"*a", b"? ", b"!!python/object:x ", b"M0", b"(", b")*", b"|",
]  # fmt: skip


def seeds() -> list[Path]:
    """Every descriptor that is at hand: the shipped ones, those of the rules, earlier finds."""
    folders = (configs_root() / "mgd", RULE_FOLDERS, FINDS)
    found = [path for folder in folders if folder.is_dir() for path in sorted(folder.rglob("*"))]
    kept = [
        each for each in found if each.suffix in (".textproto", ".yaml") and each.stat().st_size <= LONGEST
    ]
    assert len(kept) > 100
    return kept


def damaged(data: bytes, chance: Random) -> bytes:
    """The bytes with one to six places overwritten, cut out, doubled or filled with something telling."""
    for _ in range(chance.randint(1, 6)):
        start = chance.randint(0, len(data))
        end = min(len(data), start + chance.choice([0, 1, 1, 2, 5, 20, 80]))
        kind = chance.randrange(5)
        if kind == 0:
            data = data[:start] + data[end:]
        elif kind == 1:
            data = data[:start] + bytes([chance.randrange(256)]) + data[start + 1 :]
        elif kind == 2:
            data = data[:end] + data[start:end] * chance.randint(1, 4) + data[end:]
        elif kind == 3:
            data = data[:start] + chance.choice(PIECES) + data[end:]
        else:
            place = chance.randint(0, len(data))
            data = data[:place] + data[start:end] + data[place:]
    return data


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in this thread when the body takes longer."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"still working after {seconds} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def survive(data: bytes, suffix: str) -> bool:
    """Run everything over one input; True when it is accepted. Whatever is raised on purpose carries findings that print."""
    read = loads_v1 if suffix == ".yaml" else loads
    try:
        descriptor = read(data, file=f"fuzz{suffix}")
    except MgdError as error:
        assert error.diagnostics
        assert all(render(each).encode() for each in error.diagnostics)
        return False
    found = check(descriptor)
    assert all(render(each).encode() for each in found)
    if any(each.severity is Severity.ERROR for each in found):
        return False
    graph = expand_checked(descriptor)
    assert summary(graph)["total_devices"] == graph.device_count
    return True


@pytest.mark.parametrize(
    "path", sorted(FINDS.iterdir()) if FINDS.is_dir() else [], ids=lambda path: path.name
)
def test_earlier_finds_stay_harmless(path: Path) -> None:
    with deadline(DEADLINE):
        survive(path.read_bytes(), path.suffix)


def _run(rounds: int, seed: int) -> tuple[int, int]:
    chance, files = Random(seed), [(path.read_bytes(), path.suffix) for path in seeds()]
    accepted = 0
    for _ in range(rounds):
        data, suffix = chance.choice(files)
        data = damaged(data, chance)
        try:
            with deadline(DEADLINE):
                accepted += survive(data, suffix)
        except Exception as error:
            raise AssertionError(f"{error!r} for the {suffix} input {data!r}") from error
    return rounds, accepted


def test_a_few_damaged_files() -> None:
    rounds, accepted = _run(400, seed=1)
    assert 0 < accepted < rounds


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(4))
def test_many_damaged_files(seed: int) -> None:
    rounds, accepted = _run(6000, seed=100 + seed)
    assert 0 < accepted < rounds


def test_what_parses_can_be_laid_out() -> None:
    chance, files = Random(5), [path.read_bytes() for path in seeds() if path.suffix == ".textproto"]
    laid_out = 0
    for _ in range(300):
        data = damaged(chance.choice(files), chance)
        try:
            before = loads(data)
        except MgdError:
            continue
        text = data.decode("utf-8", "backslashreplace")
        try:
            assert loads(formatted(text)) == before
        except BadTree as error:
            raise AssertionError(f"{error} for {text!r}") from error
        laid_out += 1
    assert laid_out
