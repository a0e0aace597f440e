"""Whatever the inputs hold, the answer is a plan or findings, never a traceback."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.tt_run.sandbox import TWO_RANKS, Sandbox
from tt_run.errors import TtRunError

MAPPING = "subcontext_id_to_rank_bindings:\n  0: rb.yaml\n  1: rb.yaml\n"
MOCK = "rank_to_cluster_mock_cluster_desc:\n  0: mesh.textproto\n  1: mesh.textproto\n"
RANKFILE = "rank 0=a slot=0\nrank 1=b slot=0-3\n"
HOSTFILE = "a slots=1\nb slots=2 max_slots=4\n"
ARGUMENTS = "--map-by rankfile:file=rf --host a,b:2 --mca btl self,tcp -np 2 -x A=b"
SNIPPETS = [
    "{",
    "}",
    "[",
    "]",
    ": ",
    "- ",
    "\n",
    "  ",
    "'",
    '"',
    "&a ",
    "*a",
    "!!int ",
    "!x ",
    "<<: ",
    "? ",
    "|\n",
    "0",
    "-1",
    "null",
]
SNIPPETS += [
    "true",
    "1.5",
    "rank",
    "mesh_id: 0",
    "\t",
    "#",
    "%",
    "@",
    "\x00",
    "\x85",
    "\ufeff",
    "é",
    "…",
    "99999999999999999999",
    "=",
    ",",
]


@st.composite
def damaged(draw: st.DrawFn, text: str) -> str:
    """The text with a few pieces cut out, doubled, or put in."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        piece = draw(st.sampled_from(["", text[start:end] * 2, *SNIPPETS]) | st.text(max_size=4))
        text = text[:start] + piece + text[end:]
    return text


@pytest.fixture(scope="module")
def shared() -> Iterator[Sandbox]:
    with tempfile.TemporaryDirectory() as folder:
        sandbox = Sandbox(Path(folder))
        sandbox.two_ranks()
        yield sandbox


quick = settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def answered(sandbox: Sandbox, **request: object) -> None:
    """A plan or findings with codes; anything else would raise here."""
    for level in ("error", "off"):
        try:
            plan = sandbox.plan(check=level, **request)
        except TtRunError as error:
            assert error.diagnostics and all(
                finding.code and finding.message for finding in error.diagnostics
            )
        else:
            assert [rank.rank for rank in plan.ranks] == list(range(len(plan.ranks)))
            assert all(not finding.is_error for finding in plan.findings)


@quick
@given(damaged(TWO_RANKS + "global_env: {A: $HOME, B: '1'}\n"))
def test_bindings(shared: Sandbox, text: str) -> None:
    (shared.cwd / "damaged.yaml").write_bytes(text.encode("utf-8", "surrogatepass"))
    answered(shared, rank_binding="damaged.yaml")


@quick
@given(st.binary(max_size=60))
def test_any_bytes(shared: Sandbox, data: bytes) -> None:
    (shared.cwd / "damaged.yaml").write_bytes(data)
    answered(shared, rank_binding="damaged.yaml")
    answered(shared, rank_bindings_mapping="damaged.yaml")
    answered(shared, mock_cluster_rank_binding="damaged.yaml")


@quick
@given(damaged(MAPPING), damaged(MOCK))
def test_mappings(shared: Sandbox, mapping: str, mock: str) -> None:
    (shared.cwd / "damaged.yaml").write_bytes(mapping.encode("utf-8", "surrogatepass"))
    (shared.cwd / "mock.yaml").write_bytes(mock.encode("utf-8", "surrogatepass"))
    answered(shared, rank_bindings_mapping="damaged.yaml")
    answered(shared, mock_cluster_rank_binding="mock.yaml")


@quick
@given(damaged(RANKFILE), damaged(HOSTFILE))
def test_rankfiles_and_hostfiles(shared: Sandbox, rankfile: str, hostfile: str) -> None:
    (shared.cwd / "rf").write_bytes(rankfile.encode("utf-8", "surrogatepass"))
    (shared.cwd / "hf").write_bytes(hostfile.encode("utf-8", "surrogatepass"))
    answered(shared, mpi_args="--rankfile rf")
    answered(shared, mpi_args="--hostfile hf")


@quick
@given(damaged(ARGUMENTS), damaged("a:1,b:2,n[1-3]"), damaged("-t 9000 -o out --sync"))
def test_words(shared: Sandbox, arguments: str, hosts: str, tracy: str) -> None:
    (shared.cwd / "rf").write_text(RANKFILE)
    answered(shared, mpi_args=arguments)
    answered(shared, hosts=hosts)
    answered(shared, tracy=tracy)
    answered(shared, mesh_graph_descriptor="mesh.textproto", hosts=hosts)
    answered(shared, system="t3000", split=hosts, emulate=True)
    answered(shared, program=(arguments,))
