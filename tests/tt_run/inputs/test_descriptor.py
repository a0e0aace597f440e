"""Cluster descriptors: each complaint at its line, what a YAML reader would make of odd values, trays and cluster types."""

from __future__ import annotations

import pytest

from mgd.diagnostics import Diagnostic
from mgd.lean import replace
from tests.tt_run.plan.placement.machines import t3000_yaml
from tt_run.errors import InputError
from tt_run.inputs.clusters.chips import Chip, ClusterDescriptor, cluster_type
from tt_run.inputs.clusters.descriptor import GALAXY_TRAYS, galaxy_slot, parse_cluster, read_cluster


def refused(text: str | bytes) -> Diagnostic:
    with pytest.raises(InputError) as caught:
        parse_cluster(text, "c.yaml")
    return caught.value.diagnostics[0]


def place(found: Diagnostic) -> str:
    assert found.position is not None
    return f"{found.position.line}:{found.position.column}"


def changed(old: str, new: str) -> tuple[str, str]:
    """The T3000's descriptor with one piece changed, and the line of the change."""
    text = t3000_yaml()
    assert text.count(old) == 1
    return text.replace(old, new), str(text[: text.index(old)].count("\n") + 1)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("0: wormhole_b0", "0: wormhole_b1", "chip 0 has the unknown architecture"),
        ("{chip: 0, chan: 0}", "{chip: 0, chan: 25}", "entry 1 uses channel 25"),
        ("{chip: 5, chan: 3}", "{chip: 5, chan: x}", "needs {chip: number, chan: number}"),
        ("{board_id: 102}", "{board_id: x}", "entry 3 needs board_id"),
        ("{board_id: 103}, {board_type: n300}", "{board_id: 103}, {board_type: n9}", "unknown board type"),
        ("[{0: 0}, ", "[{9: 0}, ", "names chip 9"),
        ("[{0: 0}, {1: 1}, {2: 3}", "[{0: 0}, {1: 1},\n  {2: x}", "entry 3 needs {chip: device number}"),
        ("[{0: 0}, {1: 1}, {2: 3}", "[{0: 0}, {1: 1},\n  {9: 3}", "entry 3 names chip 9"),
        ("harvesting: {}", "harvesting: {}\nio_device_type: !!timestamp x", "is no !!timestamp"),
    ],
)
def test_a_complaint_stands_at_its_line(old: str, new: str, words: str) -> None:
    text, line = changed(old, new)
    found = refused(text)
    line = str(int(line) + new.count("\n"))
    assert words in found.message and place(found).split(":")[0] == line


def test_a_warning_stands_at_its_line() -> None:
    text, line = changed("harvesting: {}", "harvesting: {}\nboard: []")
    [warning] = parse_cluster(text, "c.yaml").warnings
    assert warning.code == "TTR161" and place(warning) == f"{int(line) + 1}:1"
    assert warning.help == "did you mean boards?"


def test_a_chip_is_reached_over_the_links_of_its_board() -> None:
    text = """arch: {0: wormhole_b0, 1: wormhole_b0, 2: wormhole_b0, 3: wormhole_b0}
ethernet_connections:
  - [{chip: 0, chan: 0}, {chip: 3, chan: 0}]
  - [{chip: 0, chan: 1}, {chip: 1, chan: 0}]
  - [{chip: 1, chan: 1}, {chip: 2, chan: 0}]
  - [{chip: 3, chan: 1}, {chip: 2, chan: 1}]
chips_with_mmio: [{0: 0}, {3: 1}]
harvesting: {}
boards:
  - [{board_id: 100}, {board_type: n300}, {chips: [0, 1, 2]}]
  - [{board_id: 101}, {board_type: n300}, {chips: [3]}]
"""
    chips = parse_cluster(text, "c.yaml").chips
    assert [(chip.location, chip.pcie_chip) for chip in chips.values()] == [(0, 0), (1, 0), (2, 0), (0, 3)]


def test_a_link_of_a_chip_to_itself_is_named_where_it_stands() -> None:
    text = t3000_yaml()
    near = next(line for line in text.splitlines() if "{chip: 5, chan: 3}" in line)
    own = text.replace(near, f"  - [{{chip: 0, chan: 7}}, {{chip: 0, chan: 8}}]\n{near}")
    [warning] = parse_cluster(own, "c.yaml").warnings
    assert "links chip 0 to itself and is ignored" in warning.message
    assert place(warning).split(":")[0] == str(text[: text.index(near)].count("\n") + 1)


@pytest.mark.parametrize("address", ["0000:01:00.0", "'0000:c1:00.0'", "0000:45:00.1"])
def test_pci_addresses_need_no_quotes(address: str) -> None:
    text, _ = changed("harvesting: {}", f"harvesting: {{}}\nchip_pci_bdfs: {{0: {address}}}")
    assert len(parse_cluster(text, "c.yaml").chips) == 8


def test_what_is_no_pci_address_is_shown_as_written() -> None:
    text, _ = changed("harvesting: {}", "harvesting: {}\nchip_pci_bdfs:\n  0: 01:00")
    assert "chip 0 has 01:00, not an address" in refused(text).message


@pytest.mark.parametrize(
    ("text", "where", "words"),
    [
        (b"arch: {0: n\xff}", "1:12", "0xff is not UTF-8"),
        ("arch: {0: \x01}", "1:11", "U+0001"),
        ("arch: {0: x", "1:7", "never closed"),
        ("- arch", "1:1", "is a map"),
        ("", "1:1", "is a map"),
        ("arch: {0: " + "1" * 5000 + "}", "1:11", "digits"),
        (
            "b0: &b0 [x, x]\n"
            + "".join(f"b{i}: &b{i} [{', '.join([f'*b{i - 1}'] * 9)}]\n" for i in range(1, 20)),
            "6:",
            "large",
        ),
    ],
)
def test_what_is_no_document_has_a_place(text: str | bytes, where: str, words: str) -> None:
    found = refused(text)
    assert found.code == "TTR160" and words in found.message and place(found).startswith(where)


def test_a_large_value_is_shown_in_part() -> None:
    text = "x: &x [" + "word, " * 90 + "]\n"
    found = refused(text + "arch: {0: *x}\nethernet_connections: []\n")
    assert "word, word" in found.message and len(found.message) < 150


def test_a_missing_file_says_why() -> None:
    from pathlib import Path

    with pytest.raises(InputError, match=r"cannot read the cluster descriptor: No such file or directory$"):
        read_cluster(Path("/no/such/file.yaml"))


@pytest.mark.parametrize("kind", list(GALAXY_TRAYS))
def test_a_galaxy_has_four_trays_of_eight(kind: str) -> None:
    """The bus ids that the reference's table lists, each another seat."""
    high = {"ubb": (0xC0, 0x80, 0x00, 0x40), "ubb_blackhole": (0x00, 0x40, 0xC0, 0x80)}[kind]
    seats = [galaxy_slot(kind, bus | place) for bus in high for place in range(1, 9)]
    assert seats == [(tray, location) for tray in range(1, 5) for location in range(1, 9)]
    assert galaxy_slot(kind, high[0] | 9) == galaxy_slot(kind, high[0]) == galaxy_slot(kind, 0xF1) == (0, 0)
    assert galaxy_slot(kind, None) == (0, 0)


def _of(board: str, count: int) -> ClusterDescriptor:
    chips = {n: Chip(n, n, "BLACKHOLE", board, n, n, 0, n) for n in range(count)}
    return ClusterDescriptor("c.yaml", "host", "BLACKHOLE", chips, ())


@pytest.mark.parametrize(
    ("board", "count", "wanted"),
    [
        ("n150", 1, "N150"),
        ("n300", 2, "N300"),
        ("p100", 1, "P100"),
        ("p100", 2, "CUSTOM"),
        ("p150", 1, "P150"),
        ("p150", 2, "P150_X2"),
        ("p150", 4, "P150_X4"),
        ("p150", 8, "P150_X8"),
        ("p150", 3, "CUSTOM"),
        ("p300", 2, "P300"),
        ("p300", 4, "P300_X2"),
        ("p300", 1, "CUSTOM"),
        ("ubb", 32, "GALAXY"),
        ("ubb_blackhole", 32, "BLACKHOLE_GALAXY"),
        ("quasar", 1, "CUSTOM"),
    ],
)
def test_the_type_follows_from_board_and_count(board: str, count: int, wanted: str) -> None:
    assert cluster_type(_of(board, count)) == _of(board, count).cluster_type == wanted


def test_mixed_boards_have_no_type() -> None:
    cluster = _of("p150", 2)
    chips = {**cluster.chips, 1: replace(cluster.chips[1], board_type="p100")}
    assert cluster_type(replace(cluster, chips=chips)) == "INVALID"


def test_a_t3000_and_four_chips_in_a_ring_are_told_by_their_links() -> None:
    assert parse_cluster(t3000_yaml(), "c.yaml").cluster_type == "T3K"
    weaker = t3000_yaml(without=(1, 3))
    assert parse_cluster(weaker, "c.yaml").cluster_type == "N300"
    ring = replace(_of("n300", 4), links=((0, 0, 1, 0), (1, 1, 2, 0), (2, 1, 3, 0), (3, 1, 0, 1)))
    assert cluster_type(ring) == "N300_2x2"
    assert cluster_type(replace(ring, links=ring.links[:3])) == "N300"


@pytest.mark.parametrize(
    ("devices", "opened"),
    [(None, range(8)), ((0,), (0, 4)), ((0, 3), (0, 3, 4, 7)), ((), ()), ((4,), ())],
)
def test_a_process_opens_the_boards_of_its_devices_whole(
    devices: tuple[int, ...] | None, opened: tuple[int, ...]
) -> None:
    assert parse_cluster(t3000_yaml(), "c.yaml").opened(devices) == frozenset(opened)


def test_a_large_board_is_opened_chip_by_chip() -> None:
    chips = {n: Chip(n, n, "WORMHOLE_B0", "ubb", 9, 1, n + 1, n) for n in range(3)}
    assert ClusterDescriptor("c", "h", "WORMHOLE_B0", chips, ()).opened((1,)) == {1}


def test_a_host_may_have_one_chip() -> None:
    text = (
        "arch: {0: Blackhole}\nchips_with_mmio: [0]\nboards: [[{board_id: 5}, {board_type: p150}, {chips: [0]}]]\n"
        "ethernet_connections: []\nharvesting: {}\n"
    )
    cluster = parse_cluster(text, "one.yaml")
    assert (cluster.arch, cluster.cluster_type, cluster.host) == ("BLACKHOLE", "P150", "one.yaml")
    assert cluster.chips == {0: Chip(0, 0, "BLACKHOLE", "p150", 5, 1, 0, 0)}
    assert parse_cluster(text, "one.yaml", host="a").host == "a"


@pytest.mark.parametrize(("arch", "last"), [("wormhole_b0", 15), ("blackhole", 13), ("quasar", 15)])
def test_channels_are_those_of_the_architecture(arch: str, last: int) -> None:
    def text(channel: int) -> str:
        link = f"[{{chip: 0, chan: {channel}}}, {{chip: 1, chan: 0}}]"
        return (
            f"arch: {{0: {arch}, 1: {arch}}}\nchips_with_mmio: [0, 1]\nharvesting: {{}}\nasic_locations: {{0: 0, 1: 1}}\n"
            f"boards: [[{{board_id: 5}}, {{board_type: p300}}, {{chips: [0, 1]}}]]\nethernet_connections: [{link}]\n"
        )

    for channel in (-1, last + 1):
        assert f"has channels 0..{last}" in refused(text(channel)).message
    if arch == "blackhole":
        assert parse_cluster(text(last), "c.yaml").links == ((0, last, 1, 0),)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("[{chip: 0, chan: 8}]", "needs two ends, not [{chip: 0, chan: 8}]"),
        ("[{chip: 0, chan: 8}, {chip: 1, chan: 0}]", "needs {remote_chip_id: number, chan: number}"),
        ("[{chip: 0, chan: 16}, {remote_chip_id: 1, chan: 0}]", "uses channel 16"),
        ("[{chip: 9, chan: 8}, {remote_chip_id: 1, chan: 0}]", "names chip 9"),
    ],
)
def test_links_to_other_hosts_are_told_by_number_and_line(entry: str, words: str) -> None:
    sound = "[{chip: 3, chan: 12}, {remote_chip_id: 77, chan: 5}]"
    key = "ethernet_connections_to_remote_devices"
    lines = t3000_yaml().count("\n")
    assert parse_cluster(t3000_yaml() + f"{key}:\n  - {sound}\n", "c.yaml").remote_links
    found = refused(t3000_yaml() + f"{key}:\n  - {sound}\n  - {entry}\n")
    assert found.message.startswith(f"{key}: entry 2 ") and words in found.message
    assert place(found) == f"{lines + 3}:5"


def test_a_file_of_thousands_of_unknown_keys_is_told_briefly() -> None:
    text = "".join(f"k{number}: 1\n" for number in range(3000))
    with pytest.raises(InputError) as caught:
        parse_cluster(text.encode(), "c.yaml")
    told = [each.message for each in caught.value.diagnostics if "unknown key" in each.message]
    assert len(told) == 21 and told[-1] == "2,980 more unknown keys are ignored"
