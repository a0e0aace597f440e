"""What a kept discovery is worth, which folder is its own, and the launch that it stands for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tt_run.sandbox import MESH_2X4_TWO_HOSTS, Sandbox
from tt_run.errors import InputError
from tt_run.plan.allocation import files
from tt_run.plan.discovery import (
    BINDINGS,
    GENERATOR,
    MAPPING,
    MOCK,
    RANKFILE,
    Discovery,
    find_generator,
    generator_places,
    read_discovery,
)

RANKS = "rank 0=b slot=0\nrank 1=a slot=0\nrank 2=b slot=1\n"
WHOLE = {BINDINGS: "rank_bindings: []\n", RANKFILE: RANKS}


def discovery(sandbox: Sandbox, **fields: str | None) -> Discovery:
    request = {"mesh_graph_descriptor": "mesh.textproto", "hosts": "b:2,a", **fields}
    found = read_discovery(sandbox.request(**request), sandbox.site)
    assert found is not None
    return found


def keep(folder: Path, texts: dict[str, str], key: str | None) -> None:
    folder.mkdir(parents=True)
    for name, text in {**texts, **({files.KEY_FILE: f"{key}\n"} if key else {})}.items():
        (folder / name).write_text(text)


@pytest.fixture
def described(sandbox: Sandbox) -> Sandbox:
    """A launch directory with a descriptor, a mapping of it, and a mock cluster of two machines."""
    sandbox.write("mesh.textproto", MESH_2X4_TWO_HOSTS)
    sandbox.write(
        "map.yaml", "subcontext_id_to_mesh_graph_descriptor: {0: mesh.textproto, 1: mesh.textproto}\n"
    )
    sandbox.write("mock.yaml", "rank_to_cluster_mock_cluster_desc: {0: one.yaml, 1: two.yaml}\n")
    for name in ("one", "two"):
        sandbox.write(f"{name}.yaml", "arch: {0: wormhole_b0}\n")
    return sandbox


@pytest.mark.parametrize(
    ("fields", "asked"),
    [
        ({"mesh_graph_descriptor": "mesh.textproto", "hosts": "b:2,a"}, (["a", "b"], [], False, 1)),
        ({"mesh_graph_descriptor_mapping": "map.yaml", "hosts": "a"}, (["a"], [], True, 2)),
        ({"mesh_graph_descriptor": "mesh.textproto", "mock_cluster_rank_binding": "mock.yaml"}, ([], ["one.yaml", "two.yaml"], False, 1)),
        ({"mesh_graph_descriptor": "mesh.textproto", "mock_cluster_rank_binding": "mock.yaml", "hosts": "a"}, ([], ["one.yaml", "two.yaml"], False, 1)),
        ({"mesh_graph_descriptor": "mesh.textproto"}, None),
        ({"hosts": "a"}, None),
        ({"mock_cluster_rank_binding": "mock.yaml"}, None),
    ],
)  # fmt: skip
def test_which_requests_stand_for_a_discovery(
    described: Sandbox, fields: dict[str, str], asked: tuple[list[str], list[str], bool, int] | None
) -> None:
    found = read_discovery(described.request(**fields), described.site)
    if found is None:
        assert asked is None
        return
    machines = [path.name for _, path in sorted(found.machines.items())]
    assert (list(found.hosts), machines, found.is_mapping, len(found.descriptors)) == asked
    assert found.folder == described.cwd / "generated/ttrun" / found.key[:16] and len(found.key) == 64


@pytest.mark.parametrize(
    ("texts", "is_own", "whole"),
    [
        (WHOLE, True, True),
        ({MAPPING: "x", RANKFILE: RANKS}, True, True),
        ({**WHOLE, BINDINGS: ""}, True, False),
        ({**WHOLE, BINDINGS: "", MAPPING: "x"}, True, True),
        ({**WHOLE, RANKFILE: ""}, True, False),
        ({BINDINGS: "x"}, True, False),
        ({**WHOLE, BINDINGS: f"{files.DERIVED} x\n"}, True, False),
        ({**WHOLE, BINDINGS: f"rank_bindings: []\n{files.DERIVED} x\n"}, True, True),
        ({MAPPING: "x", RANKFILE: RANKS, "rank_bindings_subctx_0.yaml": f"{files.DERIVED} x\n"}, True, False),
        (WHOLE, False, True),
        ({}, True, False),
    ],
)  # fmt: skip
def test_what_is_whole_and_of_these_inputs_is_known(
    described: Sandbox, texts: dict[str, str], is_own: bool, whole: bool
) -> None:
    asked = discovery(described)
    assert not asked.is_whole and not asked.is_known
    keep(asked.folder, texts, asked.key if is_own else None)
    assert (asked.is_whole, asked.is_known) == (whole, whole and is_own)


@pytest.mark.parametrize(("mock", "whole"), [(None, False), ("", False), ("x: 1\n", True)])
def test_a_mock_cluster_has_a_file_more(described: Sandbox, mock: str | None, whole: bool) -> None:
    asked = discovery(described, hosts=None, mock_cluster_rank_binding="mock.yaml")
    keep(asked.folder, {**WHOLE, **({} if mock is None else {MOCK: mock})}, asked.key)
    assert asked.is_known == whole


@pytest.mark.parametrize(
    ("changed", "fields"),
    [
        ("mesh.textproto", {}),
        ("one.yaml", {"mock_cluster_rank_binding": "mock.yaml"}),
        ("map.yaml", {"mesh_graph_descriptor_mapping": "map.yaml", "mesh_graph_descriptor": None}),
        ("factory", {"factory_system_descriptor": "factory"}),
        ("pins", {"rank_pinning_file": "pins"}),
    ],
)
def test_each_input_has_a_part_in_the_fingerprint(
    described: Sandbox, changed: str, fields: dict[str, str | None]
) -> None:
    for name in ("factory", "pins"):
        described.write(name, "rank_pinnings: []")
    first = discovery(described, **fields)
    assert first.key == discovery(described, **fields).key
    path = described.cwd / changed
    path.write_text(path.read_text() + "# more\n")
    assert discovery(described, **fields).key != first.key
    if fields:
        none = dict.fromkeys(fields, None)
        assert first.key != discovery(described, **{**none, "mesh_graph_descriptor": "mesh.textproto"}).key


OTHER = "f" * 64


@pytest.mark.parametrize(
    ("short", "long", "is_long"),
    [
        (None, False, False),
        ("own", False, False),
        ("own", True, False),
        ("other", False, True),
        ("other", True, True),
        ("other and broken", False, False),
        ("other and broken", True, True),
        (None, True, True),
        ("without a key", False, False),
        ("without a key", True, True),
    ],
)
def test_the_long_name_is_for_fingerprints_that_begin_alike(
    described: Sandbox, short: str | None, long: bool, is_long: bool
) -> None:
    asked = discovery(described)
    if short is not None:
        texts = WHOLE if "broken" not in short else {RANKFILE: RANKS}
        keep(asked.folder, texts, {"own": asked.key, "without a key": None}.get(short, OTHER))
    if long:
        keep(asked.folder.with_name(asked.key), WHOLE, asked.key)
    found = discovery(described)
    assert found.folder.name == (asked.key if is_long else asked.key[:16])
    assert found.is_known == (short == "own" or long)


def test_the_launch_that_a_discovery_stands_for(described: Sandbox) -> None:
    for name, several in ((BINDINGS, False), (MAPPING, True)):
        for mock in (False, True):
            fields = {"hosts": None, "mock_cluster_rank_binding": "mock.yaml"} if mock else {"hosts": "b:2,a"}
            fields = {"mesh_graph_descriptor": "mesh.textproto", "mpi_args": "--tag-output", **fields}
            request = described.request(**fields)
            asked = read_discovery(request, described.site)
            assert asked is not None
            if not asked.folder.exists():
                keep(asked.folder, {**WHOLE, MOCK: "x"}, asked.key)
            if several:
                (asked.folder / name).write_text("x: 1\n")
            made, folder = asked.request(request, described.site), asked.folder
            assert made.rank_binding == (None if several else str(folder / BINDINGS))
            assert made.rank_bindings_mapping == (str(folder / MAPPING) if several else None)
            assert (made.mesh_graph_descriptor, made.mesh_graph_descriptor_mapping, made.hosts) == (None,) * 3
            assert made.mock_cluster_rank_binding == (str(folder / MOCK) if mock else None)
            rankfile = f"--rankfile {folder / RANKFILE}"
            hosts = "" if mock else "--host b:2,a:1 "
            assert made.mpi_args == f"{hosts}{rankfile} --tag-output"


@pytest.mark.parametrize(
    ("home", "places"),
    [
        (None, ["CWD"]),
        ("", ["CWD"]),
        ("/opt/metal", ["/opt/metal", "CWD"]),
        ("~/metal", ["HOME/metal", "CWD"]),
    ],
)
def test_where_the_generator_is_looked_for(described: Sandbox, home: str | None, places: list[str]) -> None:
    if home is not None:
        described.set(TT_METAL_HOME=home)
    assert generator_places(described.site) == tuple(described.root / place / GENERATOR for place in places)
    assert find_generator(described.site) is None
    for place in places[::-1]:
        if not place.startswith("/"):
            made = described.root / place / GENERATOR
            made.parent.mkdir(parents=True)
            made.touch()
            assert find_generator(described.site) == made


def test_a_factory_descriptor_is_part_of_what_is_asked(described: Sandbox) -> None:
    plain = discovery(described)
    with pytest.raises(InputError) as caught:
        discovery(described, factory_system_descriptor="gone.textproto")
    assert "gone.textproto" in caught.value.diagnostics[0].message
    keys = {plain.key}
    for text in ("a", "b"):
        described.write("factory.textproto", text)
        keys.add(discovery(described, factory_system_descriptor="factory.textproto").key)
    keys.add(discovery(described, hosts="a,c").key)
    assert len(keys) == 4 and discovery(described, hosts="a,b:7").key == plain.key
