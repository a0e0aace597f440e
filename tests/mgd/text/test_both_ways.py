"""Small texts are read token by token, large ones by one expression where that knows them: what comes of it is the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgd.text import parser, source
from mgd.text.source import Source
from tests.sweep import thinned

ROOT = Path(__file__).resolve().parents[3]
TEXTS = {
    str(path.relative_to(ROOT)): path.read_bytes().decode("utf-8", "replace")
    for folder in ("configs/mgd", "tests/corpus/mgd")
    for path in sorted((ROOT / folder).rglob("*.textproto"))
}
PIECES = st.sampled_from(
    ["mesh_descriptors", "name", "arch", "device_topology", "dims", "directional", "{", "}", "<", ">", ":", ",", ";", " ", "\n", "# x\n",
     "[1, 2]", "-1", "0", "07", "4294967296", '"M0"', "'M0'", '"a" "b"', '"\\n"', "WORMHOLE_B0", "RING", "true", "graph_descriptors",
     "connections", "type", "unknown", '"', "1.5"]
)  # fmt: skip


def read(text: str, small: int) -> tuple[object, object, object]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parser, "SMALL", small)
        found, problems = parser.parse(Source(text, "f.textproto"))
    told = [
        (each.code, each.message, each.labels, each.help) for each in (*problems.errors, *problems.warnings)
    ]
    places = None if found is None else [mesh.at for mesh in found.mesh_descriptors]
    return found, told, places


@pytest.mark.parametrize("name", thinned(list(TEXTS), 3))
def test_files_are_read_alike(name: str) -> None:
    assert read(TEXTS[name], 0) == read(TEXTS[name], len(TEXTS[name]) + 1)


@given(st.lists(PIECES, max_size=30).map(" ".join) | st.lists(PIECES, max_size=30).map("".join))
def test_anything_is_read_alike(text: str) -> None:
    assert read(text, 0) == read(text, len(text) + 1)


@given(st.text("ab\r\n", max_size=20))
def test_lines_and_columns_are_the_same(text: str) -> None:
    offsets = range(len(text) + 1)
    small = [Source(text).position(offset) for offset in offsets]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "SMALL", 0)
        assert [Source(text).position(offset) for offset in offsets] == small
