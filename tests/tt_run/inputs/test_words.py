"""Every word that is said of the files of a launch, with its places, and what is read of those that are accepted: `words.txt`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.tt_run.sandbox import Sandbox
from tests.words import same_as_read
from tt_run.errors import TtRunError
from tt_run.inputs.bindings import read_rank_bindings
from tt_run.inputs.clusters.mock import read_mock_cluster
from tt_run.inputs.findings import Findings
from tt_run.inputs.hosts.lists import parse_hosts, read_hostfile
from tt_run.inputs.hosts.pinnings import read_rank_pinnings
from tt_run.inputs.hosts.rankfiles import read_rankfile
from tt_run.inputs.mpi_args import read_mpi_args, split_mpi_args
from tt_run.inputs.subcontexts import read_rank_bindings_mapping
from tt_run.inputs.wrapping import parse_tracy

END = "mesh_graph_desc_path: m.textproto\n"
R0, R1 = "- {rank: 0, mesh_id: 0}\n", "- {rank: 1, mesh_id: 0}\n"


def ranks(*entries: str, more: str = "") -> str:
    return "rank_bindings:\n" + "".join(f"- {{{each}}}\n" for each in entries) + END + more


BINDINGS = (
    ranks("rank: 0, mesh_id: 0, mesh_host_rank: 0, subcontext_id: 0, subcontext_size: 1"),
    ranks("rank: -1, mesh_id: -1, mesh_host_rank: -1, subcontext_id: -1, subcontext_size: 0"),
    ranks("rank: 1, mesh_id: 3, mesh_host_rank: ~", "rank: '0', mesh_id: 0x10"),
    ranks("rank: 01, mesh_id: +1", "rank: 1.0, mesh_id: true", "rank: 1e1, mesh_id: 1_0", "rank: 1:30, mesh_id: 2001-01-01"),
    ranks("rank: 1.5, mesh_id: x", "rank: ~, mesh_id: [1]", "rank: 9007199254740993.0, mesh_id: 99999999999999999999"),
    ranks("rank: 0, mesh_id: 0", "rank: 0, mesh_id: 1", "rank: 2, mesh_id: 2", "rank: 5, mesh_id: 2", "rank: 9, mesh_id: 2"),
    ranks("rank: 1, mesh_id: 0", "rank: 2, mesh_id: 0"),
    ranks("mesh_id: 0", "rank: 0", "rnak: 0, mesh_id: 0, zzz: 1", "rank: 0, rank: 1, mesh_id: 0"),
    ranks("rank: 0, mesh_id: 0, mesh_graph_desc_path: sub/n.textproto", "rank: 1, mesh_id: 0, mesh_graph_desc_path: ''"),
    ranks("rank: 0, mesh_id: 0, mesh_graph_desc_path: no.textproto", "rank: 1, mesh_id: 0, mesh_graph_desc_path: ~"),
    ranks("rank: 0, mesh_id: 0, mesh_graph_desc_path: 3", "x"),
    ranks("rank: 0, mesh_id: 0, env_overrides: {A: 1, B: true, C: ~, D: 'x', 5: y, 'E=F': z, '': w, 'a b': v, ' ': u}"),
    ranks("rank: 0, mesh_id: 0, env_overrides: {A: \"a\\0b\", \"B\\0\": c, D: [x], E: 1.50, F: 2001-01-01, G: {}}"),
    ranks("rank: 0, mesh_id: 0", more="global_env: {A: 'x', A: 'y'}\n"),
    ranks("rank: 0, mesh_id: 0", more="global_env: [A]\nfactory_system_descriptor_path: f.textproto\n"),
    ranks("rank: 0, mesh_id: 0", "rank: 1, mesh_id: 0", more="mock_cluster_rank_binding: {0: a.yaml, 1: b.yaml, 7: c.yaml}\n"),
    ranks("rank: 0, mesh_id: 0", "rank: 1, mesh_id: 0", more="mock_cluster_rank_binding: {1: a.yaml}\n"),
    ranks("rank: 0, mesh_id: 0", more="mock_cluster_rank_binding: {x: a.yaml, 0: ~}\n"),
    ranks("rank: 0, mesh_id: 0", more="mock_cluster_rank_binding: ~\nfactory_system_descriptor_path: ~\n"),
    ranks("rank: 0, mesh_id: 0", more="more: [\n"),
    ranks("rank: 0, mesh_id: 0", more="\tmore: 1\n"),
    ranks("rank: 0, mesh_id: 0", more="? [a]\n: 1\n"),
    "x: &x {mesh_id: 4, env_overrides: {A: b}}\nrank_bindings:\n- {<<: *x, rank: 0}\n- {rank: 1, <<: *x, mesh_id: 1}\n" + END,
    "rank_bindings: []\n" + END,
    "rank_bindings: 3\n" + END,
    "rank_bindings: ~\n" + END,
    END,
    "rank_bindings:\n" + R0 + "mesh_graph_desc_path:\n",
    "rank_bindings:\n" + R0 + "mesh_graph_desc_path: ''\n",
    "rank_bindings:\n" + R0 + "mesh_graph_desc_path: mm.textproto\n",
    "rank_bindings:\n" + R0 + "mesh_graph_desc_path: sub\n",
    "rank_bindings:\n" + R0,
    "- 1\n",
    "a long word that is no mapping but that goes on for more than forty characters\n",
    "",
)  # fmt: skip
HOSTFILES = (
    "a\nb slots=2 # two\n  c:3\nd slots = 4 max_slots=8\ne max-slots=9\n#f\n\na\n",
    "a slots=2\n# none\n\nb slot=2\nc:x\nd slots=2 x\n-e\nf:\ng:4 slots=5\nh SLOTS=6 Max-Slots = 7\n",
    "# nothing\n",
    "",
    "a slots=x\n",
)
RANKFILES = (
    "rank 0=a slot=0\nrank 1=b slots=0-3 # one # two\n  Rank 2 = c\n\n# x\nrank 3=d slot=0:0-3\nrank 4=e slot=*\nrank 5=f slot=0,2\n",
    "rank 1=a slot=0\r\nrank 0=b slot=1\r\n",
    "rank 0=a slot=x\nrank=b\n   rank 2=-c slot=0\nrank 3=a slot=0-\nrank x=b\nrank 4=a slot=\n",
    "rank 0=a#slot=0\nrank 0=b\n",
    "",
)
KEY = "subcontext_id_to_rank_bindings"
MAPPINGS = (
    f"{KEY}: {{0: a.yaml, 1: b.yaml}}\n",
    f"{KEY}: {{1: a.yaml, 0: a.yaml, 2: b.yaml}}\n",
    f"{KEY}: {{0: a.yaml, 2: b.yaml, 5: a.yaml}}\n",
    f"{KEY}: {{x: a.yaml, 1: [b.yaml]}}\n",
    f"{KEY}: {{0: a.yaml, 1: c.yaml}}\n",
    f"{KEY}: {{}}\n",
    f"{KEY}: a.yaml\nmore: 1\n",
    "{}\n",
    "a: b.yaml\nb: c.yaml\n",
)
MOCKS = (
    "rank_to_cluster_mock_cluster_desc: {0: a.yaml, 1: b.yaml}\n",
    "rank_to_filename: {1: a.yaml}\n",
    "rank_to_filename: [{rank: 1, filename: a.yaml}]\n",
    "- {rank: 0, filename: a.yaml}\n- {rank: 1, filename: gone.yaml}\n",
    "- {rank: 0}\n- x\n- {rank: y, filename: a.yaml}\n",
    "[]\n",
    "rank_to_cluster_mock_cluster_desc: {}\n",
    "rank_to_cluster_mock_cluster_desc: 3\n",
    "arch: {}\n",
    "3\n",
)


def group(host_ranks: str, *places: str) -> str:
    placed = ", ".join(
        f"{{hostname: {each.split()[0]}, TT_VISIBLE_DEVICES: '{each.split()[1]}'}}" for each in places
    )
    return f"mesh_host_pinnings:\n- {{mesh_host_ranks: [{host_ranks}], host_placements: [{placed}]}}\n"


M00, M01 = "{mesh_id: 0, mesh_host_rank: 0}", "{mesh_id: 0, mesh_host_rank: 1}"
PINNINGS = (
    "rank_pinnings:\n- {rank: 0, host: a}\n- {mesh_id: 1, mesh_host_rank: 0, host: b, env_overrides: {A: b}}\n- {mesh_id: 2, host: c}\n",
    "rank_pinnings:\n- {host: a}\n- {rank: x, host: ''}\n- {rank: 0}\n- 3\n- {rank: 1, mesh_id: 0, host: a}\n- {mesh_host_rank: 0, host: b}\n",
    "rank_pinnings:\n- {rank: 0, host: [a]}\n- {mesh_id: x, host: a}\n- {rank: 1, hots: b}\n",
    "rank_pinnings: []\n",
    group(M00 + ", " + M01, "a 0,1", "b 2,3", "h 4,5"),
    group(M00 + ", " + M01, "a 0,1"),
    group(M00, "a 0", "b 1") + "- {mesh_host_ranks: 3, host_placements: []}\n- x\n- {mesh_host_ranks: [x]}\n",
    group("{mesh_id: 0}, {mesh_host_rank: x, mesh_id: 1}", "a 0", "b 1"),
    "mesh_host_pinnings:\n- {mesh_host_ranks: [3], host_placements: [{hostname: a}, 4, {TT_VISIBLE_DEVICES: '0'}]}\n",
    "mesh_host_pinnings:\n- {host_placements: []}\n- {mesh_host_ranks: [], host_placements: [{hostname: a, TT_VISIBLE_DEVICES: '0'}]}\n",
    "mesh_host_pinnings: []\n",
    "mesh_host_pinnings: 3\n",
    "{}\n",
    "[]\n",
)
HOSTS = ("a", "a:2,b", "a,a", "a:0,b:65536,c:65537,:3,d:", "n[01-03]:2,-x,y z", "", "n[1-2],n2")
MPI_ARGS = (
    "--host a,b:2 -H c --hostfile f --bind-to core -x A=b -x C --mca btl tcp --oversubscribe y",
    "--rankfile r --map-by rankfile:file=r -np 2",
    "-rf r --rankfile=s",
    "--map-by ppr:2:node --map-by rankfile:pe=2,file=t:oversubscribe",
    "-np 3 : -x",
    "--host=-a,b --mca btl",
    "--host",
    "'open",
    "--host a:999999999,b:1234567890,c:*,d:x,:4,fe80::1,fe80::1:2,::1 a=b --x=y=z -H e:",
    "--mca --mca",
    "-np 2 --np 3 -c x --n=4 -n",
    "-x A=1 -x A -x A=2",
    "--map-by RANKFILE:pe=2,FILE=r:oversubscribe",
)
TRACY = (
    "",
    "-t 1",
    "--port=65535 -o out -r",
    "-p x -t 65536",
    "-t",
    "-o",
    "--output-folder",
    "--port",
    "-t 007",
    "--port=",
    "'",
)


def told(findings: Findings) -> Iterator[str]:
    for each in (*findings.broken, *findings.judged):
        yield f"  {each.severity.value} {each.code}: {each.message}"
        yield from (f"    {label.position} {label.text}".rstrip() for label in each.labels)
        yield from (f"    help: {each.help}",) if each.help else ()
        yield from (f"    note: {note}" for note in each.notes)


def shown(value: Any) -> str:
    return re.sub(r"(PosixPath|Position)\((.*?)\)", r"\2", repr(value))


def test_the_words_on_every_file(sandbox: Sandbox) -> None:
    for name in ("m.textproto", "sub/n.textproto", "a.textproto", "b.textproto"):
        sandbox.write(name, "stub")
    for name, env, count in (("a", "{G: x, A: y}", 2), ("b", "{G: x}", 1), ("c", "{G: z}", 1)):
        mock = f"mock_cluster_rank_binding: {{{', '.join(f'{i}: {name}{i}' for i in range(count))}}}\n"
        text = f"rank_bindings:\n{(R0 + R1)[: len(R0) * count]}mesh_graph_desc_path: m.textproto\nglobal_env: {env}\n{mock}"
        sandbox.write(
            f"sub/{name}.yaml", text + f"factory_system_descriptor_path: {name}.f\n" * (name == "b")
        )
    sandbox.write("a.yaml", "stub")
    sandbox.write("b.yaml", "stub")
    lines = []
    for kind, texts in (
        ("bindings", BINDINGS), ("hostfile", HOSTFILES), ("rankfile", RANKFILES), ("mapping", MAPPINGS),
        ("mock cluster", MOCKS), ("pinnings", PINNINGS), ("hosts", HOSTS), ("mpi-args", MPI_ARGS), ("tracy", TRACY),
    ):  # fmt: skip
        for text in texts:
            sandbox.findings = findings = Findings()
            site, search = sandbox.site, sandbox.search
            path = sandbox.write("sub/f.yaml" if kind == "mapping" else "f.yaml", text)
            try:
                found: Any = {
                    "bindings": lambda: read_rank_bindings(path, search, findings),  # noqa: B023 - called at once
                    "hostfile": lambda: read_hostfile(path, site, findings),  # noqa: B023
                    "rankfile": lambda: read_rankfile(path, site, findings),  # noqa: B023
                    "mapping": lambda: read_rank_bindings_mapping(path, search, findings),  # noqa: B023
                    "mock cluster": lambda: read_mock_cluster(path, search, findings),  # noqa: B023
                    "pinnings": lambda: read_rank_pinnings(path, site, findings, ("h",)),  # noqa: B023
                    "hosts": lambda: parse_hosts(text),  # noqa: B023
                    "mpi-args": lambda: read_mpi_args(split_mpi_args(text), 2),  # noqa: B023
                    "tracy": lambda: parse_tracy(text, site),  # noqa: B023
                }[kind]()
            except TtRunError as error:
                found, findings.broken[:] = None, [*error.diagnostics]
            lines += [f"{kind}: {text.rstrip().replace(chr(13), chr(0x240D))}", *told(findings)]
            if found is not None:
                lines.append(f"  gives {shown(found)}")
    same_as_read(
        "\n".join(lines).replace(str(sandbox.root), "ROOT") + "\n", Path(__file__).with_name("words.txt")
    )
