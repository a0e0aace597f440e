"""The terminal drawing: exact pictures of small meshes, promises about large ones."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgd.drawing.canvas import STYLES
from mgd.drawing.marks import Marks
from mgd.drawing.relations import pattern_of
from mgd.drawing.text import draw
from mgd.expanding.connections import InterLink
from mgd.graph import Mesh, MeshGraph
from tests.examples import examples


def mesh(
    dims: tuple[int, int],
    hosts: tuple[int, int] = (1, 1),
    types: tuple[str, str] = ("LINE", "LINE"),
    mesh_id: int = 0,
) -> Mesh:
    return Mesh(mesh_id, "M0", "WORMHOLE_B0", dims, hosts, types, 2, "RELAXED")


def picture(*meshes: Mesh, links: tuple[InterLink, ...] = (), **words: object) -> str:
    return draw(MeshGraph(meshes, links), **words)  # type: ignore[arg-type]


def test_two_hosts_side_by_side() -> None:
    assert picture(mesh((2, 4), (1, 2))) == (
        "mesh 0, 2x4, WORMHOLE_B0, 8 devices on 2 hosts, 2 channels RELAXED\n"
        "╭ rank 0 ───╮ ╭ rank 1 ───╮\n"
        "│  0 ─── 1 ─┼─┼─ 2 ─── 3  │\n"
        "│  │     │  │ │  │     │  │\n"
        "│  4 ─── 5 ─┼─┼─ 6 ─── 7  │\n"
        "╰───────────╯ ╰───────────╯\n"
    )


def test_a_closed_row() -> None:
    text = picture(mesh((1, 4), types=("LINE", "RING")))
    assert "│◂─ 0 ─── 1 ─── 2 ─── 3 ─▸│" in text
    assert "closes into a ring" in text


def test_broken_links_and_wraps_are_crossed_out_at_both_ends() -> None:
    edges = frozenset({(0, 1, 9), (0, 4, 7), (0, 5, 6), (0, 3, 7)})
    lines = picture(mesh((3, 4), types=("RING", "RING")), marks=Marks(edges=edges)).splitlines()
    assert lines[1:10] == [
        "╭ rank 0 ─────────────────────╮",
        "│    ▴      ✗      ▴      ▴   │",
        "│◂── 0 ──── 1 ──── 2 ──── 3 ─▸│",
        "│    │      │      │      ✗   │",
        "│✗── 4 ──── 5 ─✗── 6 ──── 7 ─✗│",
        "│    │      │      │      │   │",
        "│◂── 8 ──── 9 ─── 10 ─── 11 ─▸│",
        "│    ▾      ✗      ▾      ▾   │",
        "╰─────────────────────────────╯",
    ]


def test_a_ring_that_is_too_short_has_another_shape() -> None:
    text = picture(mesh((2, 2), types=("RING", "RING")))
    assert "▵" in text and "◃─ 0 ─── 1 ─▹" in text and "▴" not in text and "◂" not in text
    assert "an extent of 2 or less has no wrap" in text


def test_links_between_host_rows_pass_through_the_borders() -> None:
    lines = picture(mesh((4, 2), (2, 1))).splitlines()
    ticks = [[at for at, character in enumerate(line) if character in "┼│"] for line in lines]
    crossing = [at for line, at in zip(lines, ticks, strict=True) if line[0] in "╰╭" and "┼" in line]
    assert len(crossing) == 2 and crossing[0] == crossing[1]


def test_what_is_broken_is_crossed_out_without_colour() -> None:
    marks = Marks(
        frozenset({(0, 1)}), frozenset({(0, 2, 3)}), frozenset({(0, 1)}), notes=("rank 1 is bound twice",)
    )
    text = picture(mesh((2, 4), (1, 2)), marks=marks)
    assert "╭ ✗ rank 1 ─╮" in text
    assert "0 ─── 1✗─┼─┼─ 2 ─✗─ 3" in text
    assert text.endswith("✗ rank 1 is bound twice\n")


def test_host_blocks_can_be_named() -> None:
    assert "╭ node07 ───╮" in picture(mesh((2, 2)), marks=Marks(labels={(0, 0): "node07"}))


def test_colour_changes_no_character() -> None:
    graph = mesh((4, 4), (2, 2), ("RING", "RING"))
    plain, coloured = picture(graph), picture(graph, colour=True)
    assert "\x1b" not in plain and "\x1b" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    assert coloured.startswith(f"{STYLES['title']}{plain.splitlines()[0]}\x1b[0m\n")


def test_only_what_is_broken_is_red() -> None:
    def red(**words: object) -> str:
        text = picture(mesh((2, 4), (1, 2), ("RING", "RING")), colour=True, **words)
        return "".join("".join(re.findall(re.escape(STYLES["broken"]) + r"([^\x1b]*)", text)).split())

    assert red() == ""
    # One in the middle of a link, three where it passes through the borders of two blocks.
    for edge in ((0, 2, 3), (0, 1, 5), (0, 1, 2)):
        assert set(red(marks=Marks(edges=frozenset({edge})))) == {"✗"}
    assert set(red(marks=Marks(devices=frozenset({(0, 6)})))) == {"6", "✗"}
    assert set(red(marks=Marks(hosts=frozenset({(0, 1)})))) >= set("✗rank1") and "rank0" not in red(
        marks=Marks(hosts=frozenset({(0, 1)}))
    )


@pytest.mark.parametrize("dims", [(32, 4), (8, 8), (1, 32), (8, 16), (16, 8)])
@pytest.mark.parametrize("wraps", ["LINE", "RING"])
def test_large_meshes_fit_in_120_columns_with_every_device(dims: tuple[int, int], wraps: str) -> None:
    text = picture(mesh(dims, types=(wraps, wraps)), width=120)
    assert max(map(len, text.splitlines())) <= 120
    body = " ".join(line for line in text.splitlines() if line[0] in "│╭")
    assert set(map(str, range(dims[0] * dims[1]))) <= set(re.findall(r"\d+", body))


@settings(max_examples=examples(60), deadline=None)
@given(
    st.tuples(st.integers(1, 12), st.integers(1, 12)),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.sampled_from(["LINE", "RING"]), st.sampled_from(["LINE", "RING"])),
    st.integers(60, 160),
)
def test_any_mesh_keeps_to_the_page_and_draws_every_link(
    block: tuple[int, int], hosts: tuple[int, int], types: tuple[str, str], width: int
) -> None:
    one = mesh((block[0] * hosts[0], block[1] * hosts[1]), hosts, types)
    text = picture(one, width=width)
    body = [line for line in text.splitlines()[1:] if line and line[0] in "│╭╰"]
    assert max(map(len, body)) <= width
    assert text == picture(one, width=width)
    if "⋯" not in text and "⋮" not in text:
        assert sum(line.count("╭") for line in body) == one.host_count
    if one.wraps(1) and "⋯" not in text:
        assert sum(line.count("◂") for line in body) == one.dims[0]
    if one.wraps(0) and "⋯" not in text:
        assert sum(line.count("▴") for line in body) == one.dims[1]


def test_a_mesh_beyond_any_page_loses_its_middle() -> None:
    text = picture(mesh((1000, 1000)), width=80)
    assert "⋯" in text and "⋮" in text and "999999" in text
    assert len(text.splitlines()) < 100


def test_meshes_alike_are_drawn_once_when_there_are_many() -> None:
    many = tuple(mesh((8, 4), mesh_id=i) for i in range(40))
    short, full = draw(MeshGraph(many)), draw(MeshGraph(many), every=True)
    assert "to 39 look the same" in short and len(short.splitlines()) < 40
    assert all(f"mesh {i}" in full for i in range(40)) and "look the same" not in full


@pytest.mark.parametrize(
    ("rows", "count", "drawn"),
    [
        (12, 6, 6),  # two shelves of three on one screen
        (36, 6, 3),  # the second shelf would not fit any more
        (60, 2, 1),  # not even the first one does
    ],
)
def test_as_many_alike_are_drawn_as_fit_a_screen(rows: int, count: int, drawn: int) -> None:
    text = picture(*(mesh((rows, 2), mesh_id=i) for i in range(count)), width=60)
    titles = [line for line in text.splitlines() if re.match(r" mesh \d", line)]
    assert sum(line.count("mesh") for line in titles) == drawn
    assert ("the same" in text) == (drawn < count)


def test_a_marked_mesh_is_never_left_out() -> None:
    many = tuple(mesh((8, 4), mesh_id=i) for i in range(40))
    assert "5✗" in draw(MeshGraph(many), marks=Marks(devices=frozenset({(30, 5)})))


def test_links_are_told_by_their_pattern() -> None:
    meshes = tuple(mesh((2, 4), mesh_id=i) for i in range(5))
    ring = tuple(InterLink(i, (i + 1) % 5, 4, "RELAXED") for i in range(5))
    assert "a ring of 5, each 4 channels RELAXED\n    0 ═══ 1 ═══ 2 ═══ 3 ═══ 4 ═══ 0\n" in picture(
        *meshes, links=ring
    )
    uneven = (*ring[:-1], replace(ring[-1], channels=8))
    assert "0 ══4═ 1" in picture(*meshes, links=uneven) and "═8═ 0" in picture(*meshes, links=uneven)
    whole = tuple(InterLink(a, b, 4, "RELAXED", z_direction=True) for a in range(5) for b in range(a))
    assert "every pair of 5, each 4 channels RELAXED, Z ports" in picture(*meshes, links=whole)
    assert "links between meshes: none" in picture(*meshes)
    device = (InterLink(0, 1, 1, "STRICT", 3, 4),)
    assert "0:D3 ═══ 1:D4" in picture(*meshes, links=device)


@pytest.mark.parametrize(
    ("links", "pattern"),
    [
        ([("0", "1")], ""),
        ([("0", "1"), ("1", "2")], "chain"),
        ([("0", "1"), ("1", "2"), ("2", "0")], "ring"),
        ([("0", "1"), ("0", "2"), ("0", "3")], "star"),
        ([("0", "1"), ("1", "2"), ("2", "0"), ("3", "0"), ("3", "1"), ("3", "2")], "every pair"),
        ([("0", "1"), ("1", "2"), ("2", "0"), ("3", "4"), ("4", "5"), ("5", "3")], ""),
        ([("0", "1"), ("1", "0"), ("1", "2")], ""),
        ([("0", "0"), ("0", "1"), ("1", "2")], ""),
    ],
)
def test_patterns(links: list[tuple[str, ...]], pattern: str) -> None:
    assert pattern_of(links)[0] == pattern


def test_a_column_of_64_devices_has_all_of_its_numbers() -> None:
    def numbers(rows: int) -> list[int]:
        return [int(each) for each in re.findall(r"│ +(\d+) ", picture(mesh((rows, 1))))]

    assert numbers(64) == list(range(64))
    assert 0 < len(numbers(65)) < 65 and "⋮" in picture(mesh((65, 1)))


@pytest.mark.parametrize("count", [24, 25])
def test_links_without_a_pattern_are_listed_up_to_two_dozen(count: int) -> None:
    pairs = [(a, b) for a in range(8) for b in range(a + 1, 8)][:count]
    text = picture(
        *(mesh((1, 1), mesh_id=each) for each in range(8)),
        links=tuple(InterLink(a, b, 2, "RELAXED") for a, b in pairs),
    )
    assert re.findall(r"and (-?\d+) more", text) == ([] if count == 24 else ["1"])
