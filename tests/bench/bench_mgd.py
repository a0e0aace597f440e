"""Descriptors as a library: a large one against protobuf's own parser, its memory, a ring of meshes expanded."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.bench.common import Row, paired

INSTANCES, CONNECTIONS = 4096, 16384
_MESH = """\
mesh_descriptors {
  name: "M0"
  arch: BLACKHOLE
  device_topology { dims: [ 4, 2 ] dim_types: [ LINE, LINE ] }
  host_topology { dims: [ 1, 1 ] }
  channels { count: 4 policy: RELAXED }
}
"""


def large_text(instances: int = INSTANCES, connections: int = CONNECTIONS) -> str:
    """A FABRIC graph of that many 4x2 meshes and links between their devices, laid out as descriptors are: about 4.9 MB."""
    lines = [_MESH, 'graph_descriptors {\n  name: "G0"\n  type: "FABRIC"\n']
    for number in range(instances):
        lines.append(f'  instances {{ mesh {{ mesh_descriptor: "M0" mesh_id: {number} }} }}\n')
    for number in range(connections):
        turn, a = divmod(number, instances)
        b = (a + 1 + turn * 7) % instances
        lines.append(
            f"  # link {number}: from mesh {a}\n"
            "  connections {\n"
            f'    nodes {{ mesh {{ mesh_descriptor: "M0" mesh_id: {a} device_id: {turn} }} }}\n'
            f'    nodes {{ mesh {{ mesh_descriptor: "M0" mesh_id: {b} device_id: {turn + 4} }} }}\n'
            "    channels {\n      count: 2\n      policy: RELAXED\n    }\n"
            "    assign_z_direction: true\n  }\n"
        )
    return "".join([*lines, '}\n\ntop_level_instance { graph { graph_descriptor: "G0" graph_id: 0 } }\n'])


def ring_text(meshes: int) -> str:
    """A ring of that many 4x2 meshes."""
    instances = "".join(
        f'instances {{ mesh {{ mesh_descriptor: "M0" mesh_id: {i} }} }}\n' for i in range(meshes)
    )
    topology = "graph_topology { layout_type: RING channels { count: 2 policy: RELAXED } }"
    graph = f'graph_descriptors {{ name: "G0" type: "FABRIC"\n{instances}{topology} }}\n'
    return f'{_MESH}{graph}top_level_instance {{ graph {{ graph_descriptor: "G0" graph_id: 0 }} }}\n'


def run() -> list[Row]:
    """All rows; about a minute."""
    with tempfile.TemporaryDirectory() as folder:
        return list(_rows(Path(folder)))


def _rows(folder: Path) -> Iterator[Row]:
    from google.protobuf import text_format

    from mgd import proto_pb2
    from mgd.checking import check
    from mgd.reading import loads

    text = large_text()
    large = folder / "large.textproto"
    large.write_text(text)
    size = f"{len(text) / 1e6:.1f} MB"
    times = paired(
        lambda: check(loads(text)),
        lambda: text_format.Parse(text, proto_pb2.MeshGraphDescriptor()),
        5,
        clock=time.process_time,
    )
    yield Row(
        f"parse and check {size} / protobuf text_format.Parse",
        times.ratio,
        0.6,
        detail=times.detail(b="protobuf"),
    )
    yield _memory(large, len(text))
    yield _ring()


def _memory(path: Path, size: int) -> Row:
    """Peak resident memory that reading and checking adds to a process that has imported everything, by the size of the file."""
    before, after = (_peak(str(each)) for each in (path.parent / "none.textproto", path))
    added = (after - before) / size
    return Row(
        "memory of the large one / its size", added, 10, detail=f"{(after - before) / 1e6:.0f} MB added"
    )


def _peak(path: str) -> int:
    program = (
        "import sys, pathlib, mgd, mgd.checking, mgd.expansion, mgd.checks.advice_links\n"
        "if pathlib.Path(sys.argv[1]).exists(): mgd.check(mgd.load(sys.argv[1]))\n"
        # Of this very process: what getrusage tells begins with the peak of its parent.
        "lines = open('/proc/self/status').read().splitlines()\n"
        "print([line.split()[1] for line in lines if line.startswith('VmHWM')][0])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, path], capture_output=True, text=True, check=True, timeout=300
    )
    return int(done.stdout) * 1024


def _ring() -> Row:
    """A ring of 64 meshes against 50 ms."""
    from mgd.expansion import expand
    from mgd.reading import loads

    descriptor = loads(ring_text(64))
    expand(descriptor)
    taken = min(_seconds(lambda: expand(descriptor)) for _ in range(7))
    return Row("a ring of 64 meshes expanded / 50 ms", taken / 0.05, 1, detail=f"{taken * 1e3:.1f} ms")


def _seconds(call: Callable[[], object]) -> float:
    started = time.process_time()
    call()
    return time.process_time() - started
