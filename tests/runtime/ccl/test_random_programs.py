"""Programs of random operations and collectives give every device the same bits however a 2x4 mesh is cut over ranks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.mpi import mpirun, run_ranks

PROGRAM = Path(__file__).with_name("random_program.py")
SPLITS = {1: (1, 1), 2: (2, 1), 4: (2, 2), 8: (2, 4)}
MESH = """
mesh_descriptors {{
  name: "M0"
  arch: WORMHOLE_B0
  device_topology {{ dims: [2, 4] }}
  host_topology {{ dims: [{}, {}] }}
  channels {{ count: 2 policy: RELAXED }}
}}
top_level_instance {{ mesh {{ mesh_descriptor: "M0" mesh_id: 0 }} }}
"""

pytestmark = pytest.mark.skipif(mpirun() is None, reason="no mpirun beside this Python or in PATH")


def digests(
    folder: Path, hosts: tuple[int, int], first: int, count: int, *words: str, timeout: float = 240
) -> dict[str, list[str]]:
    """What the programs of seeds from `first` on print for each program and device, under one cut of the mesh."""
    descriptor = folder / "mesh.textproto"
    descriptor.write_text(MESH.format(*hosts))
    result = run_ranks(
        hosts[0] * hosts[1],
        PROGRAM,
        *(str(first), str(count), *words),
        env={"TT_MESH_GRAPH_DESC_PATH": str(descriptor)},
        timeout=timeout,
        torch="--torch" in words,
    ).check()
    lines = [line.split() for rank in result.ranks for line in rank.stdout.splitlines()]
    found = {f"{seed} {place}": rest for word, seed, place, *rest in lines if word == "digest"}
    assert len(found) == 8 * count
    return found


@pytest.mark.wide
def test_a_few_programs_have_the_bits_of_one_rank(tmp_path: Path) -> None:
    assert digests(tmp_path, SPLITS[4], 1, 6) == digests(tmp_path, SPLITS[1], 1, 6)


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize("words", [(), ("--torch",), ("--apart",)], ids=["plain", "torch", "apart"])
def test_programs_have_the_same_bits_on_every_split(tmp_path: Path, words: tuple[str, ...]) -> None:
    first = 1000 + 100 * len("".join(words))
    one = digests(tmp_path, SPLITS[1], first, 40, *words, timeout=300)
    for ranks in (2, 4, 8):
        assert digests(tmp_path, SPLITS[ranks], first, 40, *words, timeout=300) == one, ranks
