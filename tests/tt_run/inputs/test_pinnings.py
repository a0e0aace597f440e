"""Pinning files: which entries name a rank, and what is said of those that do not."""

from __future__ import annotations

import pytest

from tests.tt_run.sandbox import Sandbox, codes, only
from tt_run.inputs.hosts.pinnings import RankPin, read_rank_pinnings


def read(sandbox: Sandbox, text: str) -> tuple[RankPin, ...]:
    return read_rank_pinnings(sandbox.write("pins.yaml", text), sandbox.site, sandbox.findings)


@pytest.mark.parametrize(
    ("entry", "named"),
    [
        ("rank: 3, host: a", (3, None, 0)),
        ("mesh_id: 2, host: a", (None, 2, 0)),
        ("mesh_id: 2, mesh_host_rank: 1, host: a", (None, 2, 1)),
    ],
)
def test_a_rank_is_named_by_its_number_or_by_its_mesh(
    sandbox: Sandbox, entry: str, named: tuple[int | None, int | None, int]
) -> None:
    [pin] = read(sandbox, f"rank_pinnings:\n  - {{{entry}, env_overrides: {{A: x}}}}\n")
    assert (pin.rank, pin.mesh_id, pin.mesh_host_rank) == named
    assert (pin.host, pin.values()) == ("a", {"A": "x"})
    assert str(pin) == ("rank 3" if pin.rank is not None else f"mesh 2, host rank {named[2]}")
    assert not sandbox.findings.broken and not pin.names_devices


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("host: a", "must say 'rank', or"),
        ("rank: 0, mesh_id: 1, host: a", "must say 'rank', or"),
        ("rank: 0, mesh_host_rank: 1, host: a", "must say 'rank', or"),
        ("mesh_host_rank: 1, host: a", "must say 'rank', or"),
        ("rank: 0", "has no 'host'"),
        ("rank: 0, host: ''", "has no 'host'"),
    ],
)
def test_an_entry_that_names_no_rank_or_no_host(sandbox: Sandbox, entry: str, words: str) -> None:
    assert read(sandbox, f"rank_pinnings:\n  - {{{entry}}}\n") == ()
    assert words in only(sandbox.findings.broken, "TTR105").message


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("rank_pinnings: [{rank: x, host: a}]", "TTR104"),
        ("rank_pinnings: [{rank: 0, host: [a]}]", "TTR104"),
        ("rank_pinnings: [0]", "TTR104"),
        ("rank_pinnings: {}", "TTR104"),
        ("{}", "TTR105"),
    ],
)
def test_what_is_no_list_of_entries(sandbox: Sandbox, text: str, code: str) -> None:
    assert read(sandbox, text + "\n") == ()
    assert codes(sandbox.findings.broken) == [code]
