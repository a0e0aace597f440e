"""Packed weights of several ranks of a machine: one memory for equal ones, and private ones wherever sharing is not possible."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from mgd.resources import configs_root
from tests.runtime.mpi import run_ranks
from tt_run import contract
from tt_run.runtime.enums import DataType
from tt_run.runtime.values import shared_packs
from tt_run.runtime.values.dtypes import convert
from tt_run.runtime.values.packing import Packed, pack, unpack
from tt_run.runtime.values.shared_packs import shared


@pytest.fixture(autouse=True)
def one_of_two(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """This process is a rank beside another one of a run."""
    monkeypatch.setenv(contract.RUN_DIR, str(tmp_path))
    monkeypatch.setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "2")
    shared_packs._folder.cache_clear()
    yield
    shared_packs._folder.cache_clear()


def weight(seed: int = 0, dtype: DataType = DataType.BFLOAT16) -> Packed:
    values = np.random.default_rng(seed).standard_normal((1, 512, 1024)).astype(np.float32)
    packed = pack(convert(values, dtype))
    assert packed is not None
    return packed


def links(run: Path) -> list[Path]:
    return list((run / contract.PACKS_FOLDER).glob("*/*"))


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize("dtype", [DataType.BFLOAT16, DataType.BFLOAT8_B])
def test_the_same_numbers_lie_in_one_memory(tmp_path: Path, dtype: DataType):
    plain = weight(dtype=dtype)
    first, second = shared(weight(dtype=dtype)), shared(weight(dtype=dtype))
    (link,) = links(tmp_path)
    assert link.stat().st_size == plain.nbytes and link.parent.stat().st_mode & 0o777 == 0o700
    for found in (first, second):
        assert found.shape == plain.shape and not found.elements.flags.writeable
        assert unpack(found).tobytes() == unpack(plain).tobytes()
    assert shared(weight(1, dtype)).nbytes == plain.nbytes
    assert len(links(tmp_path)) == 1  # nobody holds the other one


def test_the_link_goes_with_who_made_it_and_the_memory_with_the_last(tmp_path: Path):
    files = open_files()
    first, second = shared(weight()), shared(weight())
    assert open_files() > files
    del first
    assert links(tmp_path) == [] and open_files() == files + 1  # of the mapping
    assert unpack(second).tobytes() == unpack(weight()).tobytes()
    del second
    assert open_files() == files


def test_one_byte_decides(tmp_path: Path):
    """Names come from some of the bytes; all are compared."""
    held, other = shared(weight()), weight()
    other.elements[77] += 1  # of those that no name comes from
    assert shared_packs._name(other) == shared_packs._name(weight())
    assert shared(other) is other
    assert len(links(tmp_path)) == 1 and unpack(held).tobytes() == unpack(weight()).tobytes()


@pytest.mark.parametrize("wrong", ["nothing", "fifo", "short", "folder"])
def test_a_link_to_anything_else_is_no_harm(tmp_path: Path, wrong: str):
    first = shared(weight())
    (link,) = links(tmp_path)
    link.unlink()
    other = tmp_path / "other"
    if wrong == "fifo":
        os.mkfifo(other)
    elif wrong == "short":
        other.write_bytes(b"short")
    elif wrong == "folder":
        other.mkdir()
    link.symlink_to(other)
    assert unpack(shared(weight())).tobytes() == unpack(first).tobytes()


def test_alone_small_or_without_a_run_it_stays_as_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    small = pack(np.zeros((1, 32, 32), np.float32))
    assert small is not None and shared(small) is small
    for name, value in ((contract.RUN_DIR, None), ("OMPI_COMM_WORLD_LOCAL_SIZE", "1")):
        with monkeypatch.context() as changed:
            changed.delenv(name) if value is None else changed.setenv(name, value)
            shared_packs._folder.cache_clear()
            packed = weight()
            assert shared(packed) is packed
    assert links(tmp_path) == []


@pytest.mark.parametrize("refusal", ["memfd", "room", "files", "folder"])
def test_where_the_system_refuses_it_stays_as_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, refusal: str
):
    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    if refusal == "memfd":
        monkeypatch.setattr(os, "memfd_create", refuse)
    elif refusal == "room":
        monkeypatch.setattr(shared_packs, "open", refuse, raising=False)
    elif refusal == "files":
        monkeypatch.setattr(shared_packs, "_most_files", lambda: 0)
    else:
        (tmp_path / contract.PACKS_FOLDER).write_text("a file")
    files, packed = open_files(), weight()
    assert shared(packed) is packed
    assert open_files() == files


def test_a_rank_that_was_killed_leaves_a_link_that_the_next_one_takes(tmp_path: Path):
    program = textwrap.dedent("""
        import os, signal
        from tests.runtime.values.test_shared_packs import shared, weight
        held = shared(weight())
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    done = subprocess.run([sys.executable, "-c", program], timeout=60, check=False)
    assert done.returncode == -9
    (link,) = links(tmp_path)
    assert not link.exists()
    held = shared(weight())
    assert link.exists() and unpack(held).tobytes() == unpack(weight()).tobytes()


PROGRAM = """
    import json, os
    import numpy as np
    import ttnn

    device = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
    replicate, sharded = ttnn.ReplicateTensorToMesh(device), ttnn.ShardTensorToMesh(device, dim=3)

    def put(seed, mapper, dtype):
        values = np.random.default_rng(seed).standard_normal((1, 1, 512, 1024), np.float32)
        return ttnn.from_torch(values, dtype=dtype, layout=ttnn.TILE_LAYOUT, device=device, mesh_mapper=mapper)

    weights = [put(seed, replicate, t) for seed, t in enumerate((ttnn.bfloat16, ttnn.bfloat8_b, ttnn.bfloat16))]
    pieces = [put(9, sharded, ttnn.bfloat16), put(8, sharded, ttnn.bfloat16)]
    x = ttnn.full((1, 1, 32, 512), 1.0, dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
    sums = [ttnn.sum(ttnn.matmul(x, w)) for w in weights for _ in range(2)]
    maps = [line.split() for line in open("/proc/self/maps") if "memfd:tt-run" in line]
    ttnn.distributed_context_barrier()
    found = {"memories": sorted({m[4] for m in maps}), "sums": [float(s.cpu().shards.data.sum()) for s in sums]}
    print(json.dumps(found))
    ttnn.distributed_context_barrier()
    ttnn.close_mesh_device(device)
"""


@pytest.mark.wide
def test_ranks_that_have_no_room_hold_their_weights_once(tmp_path: Path):
    hosts = configs_root() / "mgd" / "t3k_2x4_two_hosts.textproto"
    env = {contract.RUN_DIR: str(tmp_path), contract.MESH_GRAPH_DESC_PATH: str(hosts)}
    result = run_ranks(2, textwrap.dedent(PROGRAM), env=env | {contract.DENSE_MEMORY: "1MiB"}).check()
    one, other = (json.loads(rank.stdout) for rank in result.ranks)
    both = set(one["memories"]) & set(other["memories"])
    assert len(both) == 3, (one, other)
    assert one["sums"] == other["sums"]
    assert not (tmp_path / contract.PACKS_FOLDER).exists()
    roomy = run_ranks(2, textwrap.dedent(PROGRAM), env=env).check()
    plenty = json.loads(roomy.ranks[0].stdout)
    assert plenty == {"memories": [], "sums": one["sums"]}
