"""The files that an allocation is written to, in the folder and of the content of the reference's own, and the fingerprint that names them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from mgd.graph import MeshGraph
from mgd.lean import dataclass, replace
from tt_run.contract import VISIBLE_DEVICES
from tt_run.plan.allocation.ranks import AllocatedRank, Allocation, blocks_of

FORMAT = 1  # of the generated files; part of their first line
DERIVED = "# Written by tt-run from"  # how that line starts: tells derived bindings from discovered ones
KEY_FILE = ".phase1_cache_key"


def fingerprint(
    descriptors: bytes,
    hosts: Sequence[str] = (),
    machines: Mapping[int, bytes] | None = None,
    factory: bytes | None = None,
    pins: bytes | None = None,
) -> str:
    """64 hex digits that name the inputs of an allocation, as the reference computes them.

    `descriptors` is the content of a single descriptor, or of several as `joined_descriptors` joins them.
    """
    digest = hashlib.sha256(descriptors + b"\0")
    if machines is None:
        digest.update(json.dumps(sorted(hosts), separators=(",", ":"), ensure_ascii=False).encode())
    else:
        for rank in sorted(machines):
            digest.update(str(rank).encode() + b"\0" + hashlib.sha256(machines[rank]).digest())
    if factory is not None:
        digest.update(b"\0fsd\0" + factory)
    if pins is not None:
        digest.update(b"\0pins\0" + pins)
    return digest.hexdigest()


def joined_descriptors(mapping: bytes, descriptors: Sequence[bytes]) -> bytes:
    """What a mapping of descriptors contributes to the fingerprint: itself, then each with its number."""
    return mapping + b"\0" + b"".join(str(i).encode() + b"\0" + d for i, d in enumerate(descriptors))


def folder(launch_directory: Path, key: str) -> Path:
    """Where the files of an allocation go."""
    return launch_directory / "generated" / "ttrun" / key[:16]


def files(allocation: Allocation, parts: Sequence[DescriptorRanks], *, mock: bool) -> dict[str, str]:
    """Name and text of every generated file.

    rank_bindings.yaml for one descriptor, or rank_bindings_subctx_<id>.yaml for each and rank_bindings_mapping.yaml; rankfile;
    hostfile, or phase2_mock_mapping.yaml in mock mode; placement.json where chips were described.
    """
    made = {"rankfile": rankfile(allocation)}
    if len(parts) == 1:
        made["rank_bindings.yaml"] = bindings_yaml(parts[0].ranks, parts[0].descriptor)
    else:
        lines = ["subcontext_id_to_rank_bindings:"]
        for number, part in enumerate(parts):
            name = f"rank_bindings_subctx_{number}.yaml"
            made[name] = bindings_yaml(part.ranks, part.descriptor)
            lines.append(f"  {number}: {name}")
        made["rank_bindings_mapping.yaml"] = "\n".join(lines) + "\n"
    if mock:
        lines = ["rank_to_cluster_mock_cluster_desc:"]
        lines += [f'  "{rank.rank}": {json.dumps(rank.cluster_descriptor)}' for rank in allocation.ranks]
        made["phase2_mock_mapping.yaml"] = "\n".join(lines) + "\n"
    else:
        made["hostfile"] = "".join(
            f"{name} slots=1\n" for name in sorted({rank.host for rank in allocation.ranks})
        )
    if allocation.placed is not None:
        made["placement.json"] = allocation.placed.to_json() + "\n"
    return made


@dataclass(frozen=True, slots=True)
class DescriptorRanks:
    """The ranks of one descriptor, numbered from 0 with the mesh ids of that descriptor."""

    descriptor: str
    ranks: tuple[AllocatedRank, ...]


def parts_of(allocation: Allocation, graphs: Sequence[tuple[str, MeshGraph]]) -> list[DescriptorRanks]:
    """Cut an allocation of several descriptors, whose meshes were numbered through, into one part for each."""
    found: list[DescriptorRanks] = []
    ranks, first_rank = list(allocation.ranks), 0
    for descriptor, graph in graphs:
        ids = [mesh_id for mesh_id, _ in blocks_of(graph)]
        own = ranks[first_rank : first_rank + len(ids)]
        found.append(
            DescriptorRanks(
                descriptor,
                tuple(
                    replace(rank, rank=number, mesh_id=mesh_id)
                    for number, (rank, mesh_id) in enumerate(zip(own, ids, strict=True))
                ),
            )
        )
        first_rank += len(ids)
    return found


def bindings_yaml(ranks: Sequence[AllocatedRank], descriptor_path: str) -> str:
    """Ranks as a rank-binding file that `--rank-binding` takes."""
    lines = [
        f"{DERIVED} the descriptor and its hosts (format {FORMAT}); edits are overwritten.",
        "rank_bindings:",
    ]
    for rank in ranks:
        lines.append(f"  - rank: {rank.rank}  # {rank.why}")
        lines.append(f"    mesh_id: {rank.mesh_id}")
        lines.append(f"    mesh_host_rank: {rank.mesh_host_rank}")
        env = dict(rank.env)
        if rank.visible_devices is not None:
            env.setdefault(VISIBLE_DEVICES, rank.visible_devices)
        if env:
            lines.append("    env_overrides:")
            lines += [f"      {name}: {json.dumps(value, ensure_ascii=False)}" for name, value in env.items()]
    lines.append(f"mesh_graph_desc_path: {json.dumps(descriptor_path)}")
    return "\n".join(lines) + "\n"


def rankfile(allocation: Allocation) -> str:
    """Lines `rank N=HOST slot=S`, ascending."""
    return "".join(f"rank {rank.rank}={rank.host} slot={rank.slot}\n" for rank in allocation.ranks)
