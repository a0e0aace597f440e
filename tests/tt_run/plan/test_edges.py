"""Bounds of plans and of what they say, one step to either side."""

from __future__ import annotations

import itertools
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from mgd.diagnostics import Diagnostic, Label, Position, Severity
from mgd.lean import replace
from mgd.resources import configs_root
from tests.tt_run.plan.test_checks import bindings
from tests.tt_run.plan.test_pins import THREE_MESHES
from tests.tt_run.sandbox import MESH_2X4_TWO_HOSTS, TWO_RANKS, Sandbox, codes, only
from tt_run.contract import DEGRADE, HARDWARE, HARDWARE_SET
from tt_run.errors import RefusedError
from tt_run.hardware.data_files import MOST
from tt_run.inputs.environment import EnvVar
from tt_run.inputs.hosts.pinnings import RankPin
from tt_run.plan.build import starting_site
from tt_run.plan.emit.job import BatchJob
from tt_run.plan.environment import _columns, _origin, emulated_path, shims_folder
from tt_run.plan.launcher import LauncherFacts
from tt_run.plan.model import Placement
from tt_run.plan.named_system import _generated_path
from tt_run.plan.placement.explain import _and
from tt_run.plan.rank_pins import other_orders
from tt_run.plan.render import diagnostic_json, environment_view
from tt_run.plan.request import RankOption
from tt_run.plan.slots import Seat, Seating
from tt_run.plan.usage import _emulation_problems
from tt_run.plan.wrong_files import wrong_files

SUBCONTEXTS = "subcontext_id_to_rank_bindings: {0: rb.yaml, 1: rb.yaml}\n"


@pytest.mark.parametrize(
    ("program", "help"),
    [
        ("./run.sh", "write bash ./run.sh"),
        ("./run.py", "write python ./run.py"),
        ("./run", "chmod +x ./run"),
        ("sub/run.sh", "write bash sub/run.sh"),
    ],
)
def test_how_a_file_is_started(sandbox: Sandbox, program: str, help: str) -> None:
    sandbox.two_ranks()
    sandbox.write(program, "echo")
    [found] = [
        each for each in sandbox.plan(check="warn", program=(program,)).findings if each.code == "TTR014"
    ]
    assert (found.message, found.help) == (f"the program {program} is not executable", help)


def test_a_command_of_a_near_name(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    for name in ("mytool", "zmytool"):
        sandbox.write(f"bin/{name}", "").chmod(0o755)
    sandbox.set(PATH=f"/nowhere:{sandbox.cwd / 'bin'}")
    assert "mytool" in only(sandbox.refusal(program=("mytol",)), "TTR013").help
    assert "zmytool" not in only(sandbox.refusal(program=("mytol",)), "TTR013").help


@pytest.mark.parametrize("word", ["help", "version", "doctor", "explain", "halp"])
def test_words_that_are_options(sandbox: Sandbox, word: str) -> None:
    sandbox.two_ranks()
    assert (f"tt-run --{word}" in only(sandbox.refusal(program=(word,)), "TTR013").help) == (word != "halp")


@pytest.mark.parametrize(
    ("program", "name"),
    [
        (("python", "dir/My_Train.py"), "my-train"),
        (("./app", "x"), "app"),
        (("python", "x" * 40 + ".py"), "x" * 40),
        (("python", "x" * 41 + ".py"), "x" * 40),
        (("python", "--.py"), "tt-run"),
    ],
)
def test_the_name_of_a_job(sandbox: Sandbox, program: tuple[str, ...], name: str) -> None:
    sandbox.two_ranks()
    plan = sandbox.plan(program=program, skip_executable_check=True)
    assert BatchJob(plan, (), sandbox.cwd).name == name


@pytest.mark.parametrize(
    ("labels", "place"),
    [
        ((), (None, None, None)),
        ((Label(Position("a")),), ("a", None, None)),
        ((Label(Position("a", 2, 3), "x"), Label(Position("b", 4, 5))), ("a", 2, 3)),
    ],
)
def test_a_finding_for_tools(
    labels: tuple[Label, ...], place: tuple[str | None, int | None, int | None]
) -> None:
    found = diagnostic_json(Diagnostic("TTR001", "m", labels, "h", Severity.WARNING, ("n",)))
    assert (found["file"], found["line"], found["column"]) == place
    assert (found["severity"], found["notes"], len(found["labels"])) == ("warning", ["n"], len(labels))


def test_files_that_are_named_but_not_there(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    assert codes(sandbox.refusal(factory_system_descriptor="none.textproto")) == ["TTR101"]
    sandbox.write("f.textproto", "x")
    plan = sandbox.plan(factory_system_descriptor="f.textproto")
    given = [
        variable.value for rank in plan.ranks for name, variable in rank.env.items() if "FACTORY" in name
    ]
    assert given == [str(sandbox.cwd / "f.textproto")] * 2


def test_a_mock_mapping_names_the_merged_ranks(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    sandbox.write("map.yaml", SUBCONTEXTS)
    sandbox.write("m.yaml", "arch: {}")
    for ranks, told in (
        (
            "0: m.yaml, 1: m.yaml, 2: m.yaml",
            "the ranks of the mock mapping do not match: no descriptor for rank 3",
        ),
        (
            "0: m.yaml, 1: m.yaml, 2: m.yaml, 3: m.yaml, 4: m.yaml",
            "the mock mapping names rank 4, which the sub-contexts do not have",
        ),
    ):
        sandbox.write("mock.yaml", f"rank_to_cluster_mock_cluster_desc: {{{ranks}}}\n")
        found = only(
            sandbox.refusal(rank_bindings_mapping="map.yaml", mock_cluster_rank_binding="mock.yaml"), "TTR114"
        )
        assert found.message == told
        assert found.labels[0].text in ("ranks 0..2", "the merged ranks are 0..3", "ranks 0, 1, 2")


@pytest.mark.parametrize(
    ("meshes", "told"),
    [
        (0, "--meshes 0: at least one mesh"),
        (1, ""),
        (2, ""),
        (257, "--meshes 257: at most 256, since each is linked to every other"),
    ],
)
def test_meshes_are_not_none_and_not_too_many(sandbox: Sandbox, meshes: int, told: str) -> None:
    request = {"system": "n300", "meshes": meshes, "emulate": True}
    if told:
        assert only(sandbox.refusal(**request), "TTR008").message == told
    else:
        assert len({rank.mesh_id for rank in sandbox.plan(**request).ranks}) == meshes


@pytest.mark.parametrize(
    ("shape", "help"),
    [
        ("4x1", "of that shape there is --system n300-x2"),
        ("8x8", "of that shape there are --system dual-galaxy, dual-galaxy-torus, dual-bh-galaxy"),
        ("1x8", "of that shape there are --system loudbox, loudbox-two-hosts"),
        (
            "2x4",
            "of that shape there are --system t3000, t3000-two-hosts, t3000-four-hosts, p150-x8",
        ),
        (
            "8x4",
            "of that shape there are --system galaxy, galaxy-torus-x, galaxy-torus-y, galaxy-torus-xy",
        ),
        ("4x2", "mgd systems lists names and shapes"),
    ],
)
def test_systems_of_a_shape(sandbox: Sandbox, shape: str, help: str) -> None:
    assert only(sandbox.refusal(system=shape, emulate=True), "TTR012").help == help


def test_a_file_of_another_kind_is_told_for_each_option(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    sandbox.write("map.yaml", SUBCONTEXTS)
    told = []
    for name, file in (
        ("rank_binding", "mesh.textproto"),
        ("rank_binding", "map.yaml"),
        ("rank_bindings_mapping", "rb.yaml"),
        ("mesh_graph_descriptor", "rb.yaml"),
        ("mock_cluster_rank_binding", "rb.yaml"),
        ("rank_pinning_file", "mesh.textproto"),
        ("rank_binding", "rb.yaml"),
        ("rank_binding", ""),
    ):
        told += [
            f"{each.message} | {each.help}"
            for each in wrong_files(sandbox.request(**{name: file}), sandbox.site)
        ]
    assert [each.split(" | ")[0].split(":")[0] for each in told] == [
        *("--rank-binding mesh.textproto", "--rank-binding map.yaml", "--rank-bindings-mapping rb.yaml"),
        *("-m rb.yaml", "--mock-cluster-rank-binding rb.yaml", "--rank-pinning-file mesh.textproto"),
    ]
    assert all(each.endswith(f"in place of {each.split()[0]}") for each in told)


def pin(host: str, group: int, choices: tuple[str, ...]) -> RankPin:
    at = Position("p", 1, 1)

    def made(name: str, of: tuple[RankPin, ...] = ()) -> RankPin:
        return RankPin(name, at, at, None, 0, 0, {}, names_devices=True, group=group, choices=of)

    return made(host, tuple(made(each) for each in choices))


def test_other_orders_of_the_places_of_groups() -> None:
    first, second = ("a", "b", "c"), ("d", "e")
    pins = {
        0: pin("a", 0, first),
        1: pin("b", 0, first),
        2: pin("d", 1, second),
        3: RankPin("z", Position("p"), Position("p"), 3, None, 0, {}),
    }
    found = [
        tuple(made[rank].host for rank in range(4))
        for made in other_orders(pins, ("a", "b", "c", "d", "e", "z"))
    ]
    every = [(*one, other, "z") for one, other in itertools.product(itertools.permutations(first, 2), second)]
    assert found == [each for each in every if each != ("a", "b", "d", "z")]
    assert [made[2].host for made in other_orders(pins, ("a", "b", "e"))] == ["e", "e"]
    assert len(list(other_orders(pins, first + second, 4))) == 4
    assert len(list(other_orders({rank: pin("a", 0, tuple("abcdef")) for rank in range(6)}, "abcdef"))) == 200
    assert list(other_orders({3: pins[3]}, first)) == []


@pytest.mark.parametrize(("alike", "found"), [(49, 1), (50, 0)])
def test_other_orders_are_looked_for_among_fifty_times_as_many(alike: int, found: int) -> None:
    """Places of one host make one order."""
    pins = {0: pin("a", 0, ("a",) * alike + ("b",))}
    assert len(list(other_orders(pins, ("a", "b"), 1))) == found


@pytest.mark.parametrize(
    ("name", "help"),
    [
        ("mine.textproto", "for a descriptor of your own: tt-run --emulate -m mine.textproto"),
        ("of mine/t3k", "for a descriptor of your own: tt-run --emulate -m 'of mine/t3k'"),
        ("rb.yaml", "for rank bindings: tt-run --emulate --rank-binding rb.yaml"),
        ("rb.yml", "for rank bindings: tt-run --emulate --rank-binding rb.yml"),
        ("n300,t3000", "a launch has one system; several side by side: tt-run what-if --systems n300,t3000 -- python train.py"),
        ("t300", "write --system t3000; mgd systems lists all"),
        (",", "mgd systems"),
    ],
)  # fmt: skip
def test_what_is_no_name_of_a_system(sandbox: Sandbox, name: str, help: str) -> None:
    assert only(sandbox.refusal(system=name, emulate=True), "TTR012").help == help


@pytest.mark.parametrize(
    ("asked", "name"), [({}, ""), ({"meshes": 1}, ""), ({"meshes": 2}, "n300_x2"), ({"split": "1x2"}, "n300_split1x2")]
)  # fmt: skip
def test_only_a_system_that_is_cut_or_multiplied_needs_a_descriptor_of_its_own(
    sandbox: Sandbox, asked: dict[str, Any], name: str
) -> None:
    plan = sandbox.plan(system="n300", emulate=True, **asked)
    made = [file.path.name.rpartition("_")[0] for file in plan.generated_files]
    assert made == ([name] if name else [])
    at = Path(plan.ranks[0].env["TT_MESH_GRAPH_DESC_PATH"].value)
    assert at.name.startswith(f"{name}_") if name else at.is_file()


@pytest.mark.parametrize(("cores", "told"), [(1, "1 core"), (2, "2 cores"), (3, "3 cores")])
def test_a_rank_has_a_thread_where_there_are_more_ranks_than_cores(
    sandbox: Sandbox, cores: int, told: str
) -> None:
    sandbox.two_ranks()
    sandbox.site = replace(sandbox.site, cores=cores)
    made = sandbox.plan(emulate=True).ranks[0].env["OMP_NUM_THREADS"]
    assert made == EnvVar("1", f"default: {told} over 2 ranks of a host")


def test_names_in_a_row() -> None:
    assert [_and(names) for names in (["a"], ["a", "b"], ["a", "b", "c"])] == ["a", "a and b", "a, b and c"]


def test_ranks_without_devices_share_all_of_a_host(sandbox: Sandbox) -> None:
    sandbox.two_ranks(
        bindings("rank: 0, mesh_id: 0, mesh_host_rank: 0", "rank: 1, mesh_id: 0, mesh_host_rank: 1")
    )
    found = [each for each in sandbox.plan(check="warn").findings if each.code == "TTR214"]
    assert [each.message for each in found] == [
        "2 ranks share vm, and ranks 0 and 1 may open all of its devices"
    ]
    assert not [each for each in sandbox.plan(check="warn", emulate=True).findings if each.code == "TTR214"]


def test_a_program_is_looked_for_where_the_ranks_will_find_it(sandbox: Sandbox) -> None:
    for emulate in (False, True):
        path = starting_site(sandbox.request(emulate=emulate), sandbox.site).environ["PATH"]
        assert (
            path.endswith(sandbox.site.environ["PATH"]) and (path != sandbox.site.environ["PATH"]) == emulate
        )


def test_the_emulated_packages_are_there() -> None:
    assert (shims_folder() / "ttnn" / "__init__.py").is_file()


@pytest.mark.parametrize(
    ("before", "after"),
    [("", "HERE"), ("HERE", "HERE"), ("HERE:/bin", "HERE:/bin"), ("/bin:HERE", "HERE:/bin:HERE")],
)
def test_the_folder_of_this_python_comes_first_once(sandbox: Sandbox, before: str, after: str) -> None:
    folder = str(Path(sys.executable).parent)
    sandbox.set(PATH=before.replace("HERE", folder))
    assert emulated_path(sandbox.site) == after.replace("HERE", folder)


@pytest.mark.parametrize(("count", "left"), [(1, "76"), (10, "76"), (11, "75"), (100, "75"), (101, "74")])
def test_the_prefix_is_as_wide_as_the_last_rank_has_digits(sandbox: Sandbox, count: int, left: str) -> None:
    made = _columns(replace(sandbox.site, columns=80), count)
    assert made == EnvVar(left, "the terminal, less the prefix")


def test_how_many_ranks_share_a_host() -> None:
    def most(*hosts: str | None) -> int:
        return Seating(Placement(), tuple(Seat(host) for host in hosts)).most_on_one_host

    assert [most(), most("a"), most("a", "b", "a"), most(None, None)] == [1, 1, 2, 2]


@pytest.mark.parametrize(
    ("count", "told"), [(8, "h0, h1, h2, h3, h4, h5, h6, h7"), (9, "h0, h1, h2, h3, h4, h5, h6, h7 …")]
)
def test_hosts_without_a_rank_are_named(sandbox: Sandbox, count: int, told: str) -> None:
    sandbox.write("mesh.textproto", MESH_2X4_TWO_HOSTS)
    hosts = ",".join(["a", "b", *(f"h{n}" for n in range(count))])
    found = only(sandbox.plan(mesh_graph_descriptor="mesh.textproto", hosts=hosts).findings, "TTR181")
    assert found.message == f"--hosts: {count} hosts without a rank: {told}"


def test_where_a_setting_comes_from() -> None:
    assert _origin("mesh_id", Position("rb.yaml", 3, 5)) == "mesh_id (rb.yaml:3:5)"
    assert _origin("mesh_id", Position("mesh.textproto")) == "mesh_id (derived from the descriptor)"
    assert _origin("mesh_id", None) == "mesh_id (derived from the descriptor)"


@pytest.mark.parametrize(
    ("split", "meshes", "name"),
    [
        ((1, 2), None, "t3000_split1x2"),
        ((1, 2), 1, "t3000_split1x2"),
        (None, 2, "t3000_x2"),
        ((2, 1), 3, "t3000_split2x1_x3"),
    ],
)
def test_a_derived_descriptor_says_in_its_name_what_it_is(
    sandbox: Sandbox, split: tuple[int, int] | None, meshes: int | None, name: str
) -> None:
    made = _generated_path("t3000", split, meshes, "text", sandbox.site).name
    assert re.fullmatch(rf"{name}[-_][0-9a-f]+\.textproto", made), made


def test_the_nearest_mesh_is_named_where_one_is_not_there(sandbox: Sandbox) -> None:
    entries = "".join(
        f"  - {{rank: {rank}, mesh_id: {mesh}, mesh_host_rank: 0}}\n" for rank, mesh in enumerate((0, 1, 7))
    )
    sandbox.write("mesh.textproto", THREE_MESHES)
    sandbox.write("rb.yaml", f"rank_bindings:\n{entries}mesh_graph_desc_path: mesh.textproto\n")
    assert only(sandbox.refusal(), "TTR204").help == "bind rank 2 to mesh_id 2"


def test_ranks_without_a_seat_hide_no_others_that_share_a_device(sandbox: Sandbox) -> None:
    entries = "".join(
        f'  - {{rank: {n}, mesh_id: {n}, mesh_host_rank: 0, env_overrides: {{TT_VISIBLE_DEVICES: "0,1"}}}}\n'
        for n in range(3)
    )
    sandbox.write("mesh.textproto", THREE_MESHES)
    sandbox.write("rb.yaml", f"rank_bindings:\n{entries}mesh_graph_desc_path: mesh.textproto\n")
    sandbox.write("rf", "rank 1=vm slot=0\nrank 2=vm slot=1\n")
    found = sandbox.refusal(mpi_args="--rankfile rf")
    assert only(found, "TTR213").message == "ranks 1 and 2 on vm share devices 0, 1"


def test_hosts_of_a_rankfile_have_as_many_slots_as_ranks(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    for text, slots in (
        ("rank 0=vm slot=0\nrank 1=vm slot=1\n", [("vm", 2)]),
        ("rank 0=vm slot=0\nrank 1=other slot=0\n", [("vm", 1), ("other", 1)]),
    ):
        sandbox.write("rf", text)
        made = sandbox.plan(mpi_args="--rankfile rf").placement
        assert [(host.name, host.slots) for host in made.hosts] == slots


@pytest.mark.parametrize(
    ("arch", "seen"),
    [
        ("QUASAR", "1 visible device, which is 1 chip"),
        ("WORMHOLE_B0", "1 visible device, with the second chip of each N300 at most 2 chips"),
    ],
)
def test_how_many_chips_a_device_may_be(sandbox: Sandbox, arch: str, seen: str) -> None:
    """Four chips of a rank are more than one card has."""
    sandbox.two_ranks(TWO_RANKS.replace("0,1", "0"), MESH_2X4_TWO_HOSTS.replace("WORMHOLE_B0", arch))
    told = [each for each in sandbox.refusal() if each.code == "TTR210" and "rank 0" in each.message]
    assert next(label.text for each in told for label in each.labels) == seen


@pytest.mark.parametrize(("text", "kept"), [("x\ny\n", True), ("x slots=1\ny slots=1\n", False)])
def test_a_hostfile_without_counts_is_passed_on(sandbox: Sandbox, text: str, kept: bool) -> None:
    sandbox.two_ranks()
    sandbox.write("h.txt", text)
    made = sandbox.plan(mpi_args="--hostfile h.txt").placement
    assert (made.hostfile is not None) == kept


@pytest.mark.parametrize(("rank", "told"), [(1, ["TTR307"]), (2, []), (3, [])])
def test_only_ranks_that_there_are_share_a_slot(sandbox: Sandbox, rank: int, told: list[str]) -> None:
    sandbox.two_ranks()
    others = [n for n in range(rank + 1) if n not in (0, rank)]
    lines = [
        "rank 0=vm slot=0-1",
        *(f"rank {n}=vm slot={2 * n}-{2 * n + 1}" for n in others),
        f"rank {rank}=vm slot=0-1",
    ]
    sandbox.write("rf", "\n".join(lines) + "\n")
    found = sandbox.plan(mpi_args="--rankfile rf", check="warn").findings
    assert [each.code for each in found if each.code == "TTR307"] == told


@pytest.mark.parametrize(("count", "also"), [(5, ""), (6, ""), (7, "V6"), (8, "V6, V7")])
def test_variables_that_stay_behind_are_told_one_by_one(sandbox: Sandbox, count: int, also: str) -> None:
    sandbox.two_ranks()
    names = [f"V{n}" for n in range(count)]
    sandbox.set(**dict.fromkeys(names, "x"))
    sandbox.write("train.py", "import os\n" + "".join(f'os.environ["{name}"]\n' for name in names))
    made = sandbox.plan(hosts="vm:1,other:1", program=("sh", "train.py"))
    told = [each for each in made.findings if each.code == "TTR224"]
    assert [each.message.split()[0] for each in told] == names[:6]
    assert [note for each in told for note in each.notes] == ([f"also: {also}"] if also else [])


SUBCONTEXTS_OF = "subcontext_id_to_mesh_graph_descriptor"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: 1\n", f"TTR105 the mapping must contain {SUBCONTEXTS_OF!r} | 1:1 | add {SUBCONTEXTS_OF}: {{0: FILE.textproto}}"),
        (f"{SUBCONTEXTS_OF}: {{}}\n", f"TTR109 {SUBCONTEXTS_OF} must not be empty | 1:41 | write {SUBCONTEXTS_OF}: {{0: FILE.textproto}}"),
        (f"{SUBCONTEXTS_OF}: {{0: mesh.textproto, 2: mesh.textproto}}\n", f"TTR112 {SUBCONTEXTS_OF}: keys must be dense, 0..1, not 0, 2 | 1:41 | number the sub-contexts 0, 1, 2, …"),
        (f"{SUBCONTEXTS_OF}: {{1: mesh.textproto}}\n", f"TTR112 {SUBCONTEXTS_OF}: keys must be dense, 0..0, not 1 | 1:41 | number the sub-contexts 0, 1, 2, …"),
        (f"{SUBCONTEXTS_OF}: {{x: mesh.textproto}}\n", f"TTR104 a key of {SUBCONTEXTS_OF} must be a whole number | 1:42 | write digits, such as 0"),
        (f"{SUBCONTEXTS_OF}: {{0: [m]}}\n", f"TTR104 {SUBCONTEXTS_OF}[0] must be text | 1:45 | write \"m\""),
        (f"{SUBCONTEXTS_OF}: {{0: none.textproto}}\n", "TTR101 mesh graph descriptor not found: none.textproto | 1:45 | write an absolute path, or a path from the launch directory"),
        (f"{SUBCONTEXTS_OF}: 3\n", f"TTR104 {SUBCONTEXTS_OF} must be a mapping | 1:41 | write it as a line key: value for each key"),
    ],
)  # fmt: skip
def test_what_a_mapping_of_descriptors_may_not_say(sandbox: Sandbox, text: str, told: str) -> None:
    sandbox.write("mesh.textproto", MESH_2X4_TWO_HOSTS)
    sandbox.write("map.yaml", text)
    found = sandbox.refusal(mesh_graph_descriptor_mapping="map.yaml", hosts="a,b", emulate=True)
    words = [
        f"{each.code} {each.message} | {str(each.position).removeprefix('map.yaml:')} | {each.help}"
        for each in found
        if each.is_error
    ]
    assert words == [told]


def test_descriptors_of_a_mapping_are_taken_by_number_from_its_folder(sandbox: Sandbox) -> None:
    sandbox.write("mesh.textproto", "broken {")
    sandbox.write("sub/mesh.textproto", MESH_2X4_TWO_HOSTS)
    sandbox.write("sub/three.textproto", THREE_MESHES)
    sandbox.write("sub/map.yaml", f"{SUBCONTEXTS_OF}: {{1: three.textproto, 0: mesh.textproto}}\n")
    plan = sandbox.plan(mesh_graph_descriptor_mapping="sub/map.yaml", emulate=True)
    assert [rank.mesh_id for rank in plan.ranks] == [0, 0, 0, 1, 2]


def test_a_descriptor_that_is_not_there_is_told_before_what_its_option_asks_for(sandbox: Sandbox) -> None:
    assert codes(sandbox.refusal(mesh_graph_descriptor="mesh.textproto")) == ["TTR101"]
    sandbox.write("mesh.textproto", MESH_2X4_TWO_HOSTS)
    assert codes(sandbox.refusal(mesh_graph_descriptor="mesh.textproto")) == ["TTR011"]


def test_a_hostfile_that_is_not_there(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    assert (
        only(sandbox.refusal(mpi_args="--hostfile none.txt"), "TTR101").message
        == "hostfile not found: none.txt"
    )


def test_a_file_of_another_kind_is_no_list_of_hosts_or_ranks(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    for name, text, kind, instead in (
        ("a", "import os\n", "a Python program", "write {option} FILE"),
        ("b", TWO_RANKS, "rank bindings", "write --rank-binding b in place of {option}"),
        (
            "mesh.textproto",
            MESH_2X4_TWO_HOSTS,
            "a mesh graph descriptor",
            "write -m mesh.textproto in place of {option}",
        ),
    ):
        sandbox.write(name, text)
        for option in ("--hostfile", "--rankfile"):
            [found] = [each for each in sandbox.refusal(mpi_args=f"{option} {name}") if each.is_error]
            assert (found.code, found.message) == ("TTR028", f"{option} {name}: the file holds {kind}")
            assert found.help == instead.format(option=option) and str(found.position) == name


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        ({"rank_binding": "a", "system": "t3000"}, "TTR001 --rank-binding and --system are mutually exclusive | do not combine them: keep --rank-binding"),
        ({"system": "t3000", "mock_cluster_rank_binding": "m"}, "TTR026 --system and --mock-cluster-rank-binding are mutually exclusive: a system brings chips of its own | write -m FILE in place of --system"),
        ({"system": "t3000", "split": "0x2", "emulate": True}, "TTR008 --split 0x2: each side has at least one host | write --split 1x2"),
        ({"system": "t3000", "split": "2x00", "emulate": True}, "TTR008 --split 2x00: each side has at least one host | write --split 1x2"),
        ({"system": "t3000", "split": "2x", "emulate": True}, "TTR008 --split 2x: not of the form ROWSxCOLUMNS | write --split 1x2"),
        ({"rank_binding": "rb.yaml", "split": "1x2"}, "TTR008 --split is for --system: rank bindings say themselves how the mesh is cut | leave --split out, or write --system t3000 in place of --rank-binding"),
        ({"rank_binding": "rb.yaml", "meshes": 2}, "TTR008 --meshes needs --system | add --system t3000, or leave --meshes out"),
        ({"rank_binding": None, "emulate": True, "split": "1x2"}, "TTR008 --split needs --system | add --system t3000, or leave --split out"),
        ({"rank_binding": None, "program": ("./prog.py",)}, "TTR002 nothing says which ranks to start: one of --rank-binding, --rank-bindings-mapping, --mesh-graph-descriptor, --mesh-graph-descriptor-mapping, --system must be specified | write tt-run --emulate --system t3000 python prog.py without hardware, or name your bindings: --rank-binding FILE"),
        ({"rank_binding": None, "program": ("sh", "my prog.py"), "split": "1x2"}, "TTR002 nothing says which ranks to start: one of --rank-binding, --rank-bindings-mapping, --mesh-graph-descriptor, --mesh-graph-descriptor-mapping, --system must be specified | write tt-run --emulate --system t3000 --split 1x2 sh 'my prog.py' without hardware, or name your bindings: --rank-binding FILE"),
        ({"program": ()}, "TTR003 no program to start | add it after the options: tt-run … python script.py"),
        ({"program": ("", "x")}, "TTR003 no program to start | add it after the options: tt-run … python script.py"),
        ({"clean_env": True, "inherit_env": True}, "TTR025 --clean-env and --inherit-env are mutually exclusive | keep one of them: --clean-env"),
        ({"rank_pinning_file": "p"}, "TTR016 --rank-pinning-file needs an allocation: -m or -M, with --hosts or a mock cluster | add them, or leave it out: rank bindings with a rankfile say themselves where ranks go"),
    ],
)  # fmt: skip
def test_words_on_requests_that_contradict_themselves(
    sandbox: Sandbox, request_: dict[str, Any], told: str
) -> None:
    sandbox.two_ranks()
    assert [f"{each.code} {each.message} | {each.help}" for each in sandbox.refusal(**request_)] == [told]


@pytest.mark.parametrize(
    ("given", "seen", "origin"),
    [
        ("/mine", "SHIMS:/mine", "--emulate, then global_env"),
        ("SHIMS:/mine", "SHIMS:/mine", "global_env"),
        ("/mine:SHIMS", "SHIMS:/mine:SHIMS", "--emulate, then global_env"),
        ("", "SHIMS", "--emulate, then global_env"),
    ],
)
def test_emulated_packages_come_first_once(sandbox: Sandbox, given: str, seen: str, origin: str) -> None:
    path = given.replace("SHIMS", str(shims_folder()))
    sandbox.two_ranks(TWO_RANKS + f'global_env: {{PYTHONPATH: "{path}"}}\n')
    made = sandbox.plan(emulate=True).ranks[0].env["PYTHONPATH"]
    assert made.value == seen.replace("SHIMS", str(shims_folder())) and made.origin.startswith(origin)


@pytest.mark.parametrize(
    ("request_", "last"),
    [
        ({"clean_env": True}, "# nothing else, besides what MPI tells a rank"),
        ({}, "# removed from the launching shell's environment: TT_MESH_HOST_RANK"),
    ],
)
def test_what_a_rank_does_not_see_is_told_last(sandbox: Sandbox, request_: dict[str, Any], last: str) -> None:
    sandbox.two_ranks()
    plan = sandbox.plan(**request_)
    absent = [name for name in plan.unset if name not in plan.ranks[0].env]
    told = environment_view(plan, 0).splitlines()[-1]
    assert told == (last if request_ else last.replace("TT_MESH_HOST_RANK", " ".join(absent))) and absent
    none = replace(plan, unset=("TT_MESH_ID",), is_exact=False)
    assert not environment_view(none, 0).splitlines()[-1].startswith("#")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("#!/usr/bin/env python3\n", ""),
        ("#!/bin/sh\n", ""),
        ("#!/usr/bin/env -S python3 -u\n", ""),
        ("#!/usr/bin/env A=b python3\n", ""),
        ("#!\n", ""),
        ("echo\n", ""),
        ("#!/bin/sh\r\n", "run has the line ends of Windows, which its first line takes for part of a name | sed -i 's/\\r$//' run"),
        ("#!/no/such/shell -x\n", "run is for /no/such/shell, as its first line says, which is not on this machine | write the interpreter before it, such as bash run"),
        ("#!/usr/bin/env no-such-python\n", "run is for no-such-python, as its first line says, which is not on this machine | write python run"),
    ],
)  # fmt: skip
def test_the_first_line_of_a_script(sandbox: Sandbox, text: str, told: str) -> None:
    sandbox.two_ranks()
    path = sandbox.write("bin/run", text)
    path.chmod(0o755)
    sandbox.set(PATH=f"{path.parent}:/usr/bin:/bin")
    found = [each for each in sandbox.plan(check="warn", program=("run",)).findings if each.code == "TTR014"]
    assert [f"{each.message} | {each.help}" for each in found] == ([told] if told else [])


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("folder", "the program ./folder is a directory | name the file to start in it"),
        ("a.py", "a.py is a file here, but no command on PATH | write python a.py"),
        ("a.ipynb", "a.ipynb is a file here, but no command on PATH | jupyter nbconvert --to script a.ipynb writes the program of a notebook"),
        ("run", "run is a file here, but no command on PATH | write ./run"),
        ("./a.py", "the program ./a.py is not executable | write python ./a.py"),
    ],
)  # fmt: skip
def test_files_that_are_no_programs(sandbox: Sandbox, program: str, told: str) -> None:
    sandbox.two_ranks()
    for name in ("folder/x", "a.py", "a.ipynb", "run"):
        sandbox.write(name, "")
    word = "./folder" if program == "folder" else program
    found = [each for each in sandbox.plan(check="warn", program=(word,)).findings if each.code == "TTR014"]
    assert [f"{each.message} | {each.help}" for each in found] == [told]


def test_what_quotes_make_one_word(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    for word, help in (
        ("true x", "leave the quotes out: tt-run … true x"),
        ("no-such x", "check the name, or add --skip-executable-check if only the hosts have it"),
        ("--x", "write the options of tt-run before --"),
    ):
        assert only(sandbox.refusal(program=(word,)), "TTR013").help == help


def test_files_that_are_missing_are_told_together(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    found = sandbox.refusal(factory_system_descriptor="none.textproto", mpi_args="--hostfile none.txt")
    assert [each.message for each in found] == [
        "factory system descriptor not found: none.textproto",
        "hostfile not found: none.txt",
    ]


@pytest.mark.parametrize("check", ["error", "off"])
def test_a_rankfile_that_is_there_is_read_at_every_level(sandbox: Sandbox, check: str) -> None:
    sandbox.two_ranks()
    sandbox.write("rf", "rank 0=vm slot=1\nrank 1=other slot=0\n")
    plan = sandbox.plan(mpi_args="--rankfile rf", check=check)
    assert [(rank.host, rank.slot) for rank in plan.ranks] == [("vm", "1"), ("other", "0")]
    assert [(host.name, host.slots) for host in plan.placement.hosts] == [("vm", 1), ("other", 1)]


LONE_MESH = MESH_2X4_TWO_HOSTS.replace("host_topology { dims: [1, 2] }", "host_topology { dims: [1, 1] }")


def asked_of_ranks(variable: str, value: str) -> dict[str, Any]:
    return {"emulate": True, "of_ranks": (RankOption("--x", variable, value),)}


@pytest.mark.parametrize(("variable", "value"), [(HARDWARE_SET, "dram.interleaved=200"), (DEGRADE, "D0-D1")])
def test_a_rank_of_an_unknown_mesh_is_one_mistake(sandbox: Sandbox, variable: str, value: str) -> None:
    sandbox.two_ranks(TWO_RANKS.replace("mesh_id: 0", "mesh_id: 7", 1))
    assert codes(sandbox.refusal(**asked_of_ranks(variable, value))) == ["TTR204"]


def test_a_mesh_that_is_not_there_is_told_of_files_with_numbers(sandbox: Sandbox) -> None:
    """Without a descriptor the numbers are those of one Wormhole chip."""
    sandbox.write("black.yaml", (configs_root() / "hardware" / "blackhole.yaml").read_text())
    found = sandbox.refusal(rank_binding=None, **asked_of_ranks(HARDWARE, "black.yaml"))
    assert only(found, "TTR126").labels[0].text.endswith("describes blackhole; mesh 0 is wormhole")


@pytest.mark.parametrize(
    ("more", "notes"), [(0, ()), (1, ("and 1 more places",)), (2, ("and 2 more places",))]
)
def test_places_in_a_file_of_numbers_that_are_not_shown(
    sandbox: Sandbox, more: int, notes: tuple[str, ...]
) -> None:
    text = (configs_root() / "hardware" / "wormhole.yaml").read_text()
    sandbox.write("mine.yaml", text + "".join(f"unknown_{n}: 1\n" for n in range(MOST + more)))
    found = only(sandbox.refusal(rank_binding=None, **asked_of_ranks(HARDWARE, "mine.yaml")), "TTR126")
    assert (len(found.labels), found.notes) == (MOST, notes)


def test_slots_of_a_list_do_not_count_beside_a_rankfile(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    sandbox.write("rf", "rank 0=vm slot=0\nrank 1=vm slot=1\n")
    assert sandbox.plan(mpi_args="--host vm --rankfile rf").findings == ()


@pytest.mark.parametrize("count", [8, 9])
def test_what_hosts_take_is_told_of_eight(sandbox: Sandbox, count: int) -> None:
    ranks = [f"rank: {rank}, mesh_id: 0, mesh_host_rank: {rank}" for rank in range(count + 1)]
    sandbox.two_ranks(bindings(*ranks))
    sandbox.write("hosts.txt", "".join(f"h{n} slots=1\n" for n in range(count)))
    found = only(sandbox.refusal(mpi_args="--hostfile hosts.txt"), "TTR309")
    assert found.message == f"{count + 1} ranks do not fit in the {count} slots of hostfile hosts.txt"
    assert (
        found.help
        == f"write {' / '.join(f'h{n} slots=2' for n in range(count))}, or add --mpi-args --oversubscribe"
    )
    assert found.notes == (", ".join(f"h{n} takes 1" for n in range(8)),)


@pytest.mark.parametrize(
    ("program", "severity"),
    [(("true", "train.py"), "warning"), (("./train.py",), "error"), (("python3", "x"), "error")],
)
def test_only_python_itself_is_refused_for_another_mpi(
    sandbox: Sandbox, program: tuple[str, ...], severity: str
) -> None:
    sandbox.two_ranks()
    sandbox.write("train.py", "#!/bin/sh\n").chmod(0o755)
    facts = LauncherFacts(Path("/usr/bin/mpirun"), (5, 0, 11), mpi4py="MPICH 4.2.0")
    try:
        found = sandbox.plan(launcher=facts, program=program).findings
    except RefusedError as refused:
        found = refused.diagnostics
    assert only(found, "TTR402").severity.value == severity


def test_a_descriptor_that_cannot_be_read_does_not_hide_the_next(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    sandbox.write("broken.textproto", "mesh_descriptors { nme: 1 }")
    sandbox.write("a.yaml", bindings("rank: 0, mesh_id: 0").replace("mesh.textproto", "broken.textproto"))
    sandbox.write("b.yaml", TWO_RANKS.replace("mesh_id: 0", "mesh_id: 7", 1))
    sandbox.write("map.yaml", SUBCONTEXTS.replace("rb.yaml", "a.yaml", 1).replace("rb.yaml", "b.yaml"))
    found = sandbox.plan(rank_bindings_mapping="map.yaml", check="warn").findings
    assert only(found, "TTR204").labels[0].text == "rank 1 is bound to mesh_id 7"


def test_a_wrong_mesh_with_the_right_host_rank_keeps_it(sandbox: Sandbox) -> None:
    sandbox.two_ranks(
        bindings("rank: 0, mesh_id: 7, mesh_host_rank: 1", "rank: 1, mesh_id: 0, mesh_host_rank: 0")
    )
    assert only(sandbox.refusal(), "TTR204").help == "bind rank 0 to mesh_id 0"
    sandbox.two_ranks(
        bindings("rank: 0, mesh_id: 7, mesh_host_rank: 1", "rank: 1, mesh_id: 7, mesh_host_rank: 0")
    )
    told = [each.help for each in sandbox.refusal() if each.code == "TTR204"]
    assert told == ["bind rank 0 to mesh_id 0", "bind rank 1 to mesh_id 0"]


def test_a_mesh_of_one_host_is_named_without_a_host_rank(sandbox: Sandbox) -> None:
    sandbox.two_ranks(bindings("rank: 0, mesh_id: 7"), LONE_MESH)
    assert only(sandbox.refusal(), "TTR204").help == "bind rank 0 to mesh_id 0"


def test_host_ranks_to_choose_from_where_none_is_free(sandbox: Sandbox) -> None:
    sandbox.two_ranks(bindings(*(f"rank: {rank}, mesh_id: 0" for rank in range(3))))
    assert [each.help for each in sandbox.refusal() if each.code == "TTR209"] == [
        "add mesh_host_rank: 0",
        "add mesh_host_rank: 1",
        "add mesh_host_rank: 0..1",
    ]


def test_every_mesh_without_a_rank_is_told(sandbox: Sandbox) -> None:
    sandbox.write("mesh.textproto", THREE_MESHES)
    for bound, missing in ((0, (1, 2)), (1, (0, 2)), (2, (0, 1))):
        sandbox.write("rb.yaml", bindings(f"rank: 0, mesh_id: {bound}"))
        assert [each.message for each in sandbox.refusal() if each.code == "TTR207"] == [
            f"no rank is bound to mesh {mesh}: the descriptor needs 3 ranks, bound: 1" for mesh in missing
        ]


def test_a_program_that_is_not_there(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    unknown = "check the name, or add --skip-executable-check if only the hosts have it"
    for name in ("frob", "runs"):
        sandbox.write(f"bin/{name}", "").chmod(0o755 if name == "frob" else 0o644)
    sandbox.set(PATH=f"/nowhere:{sandbox.cwd / 'bin'}")
    assert only(sandbox.refusal(program=("~/nothing",)), "TTR013").help == unknown
    assert only(sandbox.refusal(program=("frod",)), "TTR013").help == unknown, "three letters of four"
    barred = only(sandbox.refusal(program=("runs",)), "TTR013").message
    assert barred == f"program not found: runs: you may not execute {sandbox.cwd / 'bin/runs'}"


def test_a_rank_that_is_placed_twice_and_one_that_comes_late(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    sandbox.write("rf", "rank 1=vm slot=0\nrank 1=vm slot=1\nrank 0=vm slot=2\n")
    found = sandbox.plan(mpi_args="--rankfile rf", check="warn").findings
    assert [each.text for each in only(found, "TTR304").labels] == ["rank 0 comes late"]


def test_who_asks_for_a_clean_environment_is_told_of_no_variable(sandbox: Sandbox) -> None:
    sandbox.two_ranks()
    sandbox.set(MY_SETTING="x")
    sandbox.write("train.py", 'import os\nos.environ["MY_SETTING"]\n')
    asked = {"hosts": "a:1,b:1", "program": ("sh", "train.py")}
    assert codes(sandbox.plan(**asked).findings) == ["TTR224"]
    assert sandbox.plan(**asked, clean_env=True).findings == ()


@pytest.mark.parametrize("given", ["gone.yaml", "shape.txt", "configs"])
def test_only_files_of_yaml_are_configurations(sandbox: Sandbox, given: str) -> None:
    sandbox.two_ranks()
    sandbox.write("shape.txt", "mesh_shape: [8, 4]\n")
    sandbox.write("configs/x", "")
    sandbox.write("shape.yaml", "mesh_shape: [8, 4]\n")
    for words, told in ((("--config", given), []), (("--config", given, "--config=shape.yaml"), ["TTR215"])):
        found = sandbox.plan(program=("true", *words), check="warn").findings
        assert codes(found) == told


def test_where_derived_ranks_say_they_come_from(sandbox: Sandbox) -> None:
    for name in ("one", "two"):
        sandbox.write(f"{name}.textproto", THREE_MESHES)
    sandbox.write("map.yaml", f"{SUBCONTEXTS_OF}: {{0: one.textproto, 1: two.textproto}}\n")
    plan = sandbox.plan(mesh_graph_descriptor_mapping="map.yaml", emulate=True)
    sizes = plan.ranks[5].env["TT_RUN_SUBCONTEXT_SIZES"]
    assert (sizes.value, sizes.origin) == ("3,3", f"sub-contexts of {sandbox.cwd / 'one.textproto'}")
    assert plan.ranks[5].env["TT_MESH_GRAPH_DESC_PATH"].value == str(sandbox.cwd / "two.textproto")


def test_a_mapping_of_descriptors_that_is_no_yaml(sandbox: Sandbox) -> None:
    sandbox.write("map.yaml", "a: [\n")
    assert codes(sandbox.refusal(mesh_graph_descriptor_mapping="map.yaml", emulate=True)) == ["TTR103"]


def test_as_many_meshes_as_may_be_linked() -> None:
    for meshes, told in ((256, []), (257, ["TTR008"])):
        request = Sandbox.request(system="n300", meshes=meshes, emulate=True)
        assert codes(_emulation_problems(request)) == told
