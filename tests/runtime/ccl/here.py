"""A program of one rank in the test's own process: quicker than a rank, and what measures the tests sees what it reaches."""

from __future__ import annotations

import contextlib
import io
import runpy
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.runtime.mpi import SHIMS

Digests = dict[tuple[str, str], str]


def here(program: Path) -> str:
    """What a program prints that is run as the only rank, without words."""
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.syspath_prepend(str(SHIMS))
        patch.setattr("sys.argv", [str(program)])
        runpy.run_path(str(program), run_name="__main__")
    return printed.getvalue()


def digests(lines: Iterable[str]) -> Digests:
    """By label and device what a program has printed as `digest LABEL DEVICE VALUE`, each of them once."""
    told = [line.split() for line in lines if line.startswith("digest")]
    assert len({(label, device) for _, label, device, _ in told}) == len(told)
    return {(label, device): digest for _, label, device, digest in told}
