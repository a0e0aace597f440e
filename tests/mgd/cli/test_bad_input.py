"""No verb answers a broken file with a traceback: byte-level mutations of the shipped descriptors."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mgd.systems import systems
from tests.examples import examples
from tests.mgd.cli.run import Mgd

VERBS = (
    ("check",),
    ("show",),
    ("show", "--svg", "-"),
    ("describe",),
    ("fmt", "--diff"),
    ("fix", "--diff"),
    ("convert", "--to", "1.0"),
    ("diff", "t3000"),
)
SEEDS = [system.path.read_bytes() for system in systems() if system.mesh_count < 10]
WORDS = [
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b"-1",
    b"0",
    b"2147483647",
    b"99999999999",
    b"RING",
    b'"',
    b"#",
    b"\n",
    b"\xff",
]


def mutated(seed: int) -> bytes:
    random = Random(seed)
    data = bytearray(random.choice(SEEDS))
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(data))
        until = min(len(data), at + random.choice((0, 0, 1, 5, 40)))
        put = random.choice((b"", random.choice(WORDS), bytes(data[:40]), bytes([random.randrange(256)])))
        data[at:until] = put
    return bytes(data)


def try_all(mgd: Mgd, path: Path, seed: int) -> None:
    path.write_bytes(mutated(seed))
    for verb in VERBS:
        result = mgd(*verb, path)  # the fixture fails on a traceback
        assert result.code in (0, 1, 2), (verb, seed)
        assert result.code != 2 or verb[0] == "diff", (verb, seed, result.err)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32))
def test_mutations(mgd: Mgd, tmp_path: Path, seed: int) -> None:
    try_all(mgd, tmp_path / "x.textproto", seed)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_many_mutations(mgd: Mgd, tmp_path: Path) -> None:
    for seed in range(4000):
        try_all(mgd, tmp_path / "x.textproto", seed)


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
@pytest.mark.parametrize("kind", ["folder", "missing", "binary", "empty", "yaml"])
def test_things_that_are_no_descriptors(mgd: Mgd, tmp_path: Path, verb: tuple[str, ...], kind: str) -> None:
    path = tmp_path / ("x.yaml" if kind == "yaml" else "x.textproto")
    if kind == "folder":
        path.mkdir()
    elif kind != "missing":
        path.write_bytes({"binary": bytes(range(256)) * 40, "empty": b"", "yaml": b"a: [1, {b"}[kind])
    result = mgd(*verb, path)
    assert result.code in (0, 1, 2) and (result.err or result.out or kind == "empty")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            '"""A program."""\n\nimport ttnn\n' + "a = ttnn.ones((1, 1))\n" * 9,
            "the file holds a Python program, not a mesh",
        ),
        ("import ttnn\nprint(1)\n", "the file holds a Python program, not a mesh"),
        (
            "# Two ranks.\nrank_bindings:\n  - rank: 0\n    mesh_id: 0\n",
            "the file holds rank bindings, not a mesh graph descriptor\n  --> {path}:2:1\n",
        ),
        ("\udcff", "note: the byte 0xff is not UTF-8\n  help: save the file as UTF-8"),
        (
            "# Title\n\n" + "Words of a page, `code` and more.\n" * 9,
            "the file has no field of a mesh graph descriptor",
        ),
        ("mesh_descriptors {\n" + "  words of a page\n" * 9, "expected"),
    ],
)
def test_a_file_of_another_kind_is_one_mistake(mgd: Mgd, tmp_path: Path, text: str, told: str) -> None:
    """And not one for each of its lines, as long as nothing in it is a field of a descriptor."""
    (tmp_path / "a.textproto").write_text(text, errors="surrogateescape")
    result = mgd("check", str(tmp_path / "a.textproto"))
    assert result.code == 1
    assert told.format(path=tmp_path / "a.textproto") in result.out
    assert ("1 rejected: 1 error, 0 warnings" in result.out) is (told != "expected")
