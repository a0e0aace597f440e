"""Collectives against raw MPI (2 and 4 ranks of one host) and, inside one process, against JAX with forced host devices."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

from tests.bench.common import Row, skipped, summarise
from tests.runtime.mpi import ROOT, mpirun, run_ranks

MIB = 1 << 20
DESCRIPTORS = {2: "t3k_2x4_two_hosts.textproto", 4: "t3k_2x4_four_hosts.textproto"}
# Ranks, comparison, target, whether ours must be at most that multiple of raw (else raw of ours).
TARGETS = [
    (2, "all_gather 1 MiB", 1.25, True),
    (2, "all_gather 8 MiB", 1.25, True),
    (2, "all_gather 32 MiB", 1.25, True),
    (2, "all_reduce 8 MiB", 1.0, True),
    (4, "all_reduce 8 MiB", 0.8, True),
    (2, "reduce_scatter 8 MiB", 3.5, False),
    (4, "reduce_scatter 8 MiB", 4.0, False),
]
LATENCY = 10.0  # microseconds that the 8-byte all_reduce may cost over raw
DEVICES = 8
ONE_PROCESS = [("all_gather", 8 * MIB, 2.0), ("all_gather", 32 << 10, 5.0), ("all_reduce", 8 * MIB, 1.0)]


def run() -> list[Row]:
    """All rows; those whose peer is not installed are skipped with the reason."""
    return [*between_ranks(), *one_process()]


def between_ranks() -> list[Row]:
    """Ours against raw MPI."""
    names = [(ranks, f"{name}, {ranks} ranks", target, most) for ranks, name, target, most in TARGETS]
    if mpirun() is None:
        return [skipped(name, target, "no mpirun", at_most=most) for _, name, target, most in names]
    found = {ranks: measure(ranks) for ranks in DESCRIPTORS}
    rows = []
    for ranks, name, target, at_most in TARGETS:
        times = summarise(found[ranks][name])
        ratio = times.ratio if at_most else 1 / times.ratio
        what = "of raw MPI" if at_most else "times faster than raw MPI"
        detail = times.detail("ours", "raw")
        if name == "reduce_scatter 8 MiB":
            alone, read = (
                summarise(found[ranks][f"{name} 8 MiB"])
                for name in ("additions alone", "additions of what is read")
            )
            detail += (
                f"; the additions alone {alone.detail('take', 'raw')}, so at most {1 / alone.ratio:.3g}x, and "
                f"{1 / read.ratio:.3g}x where what the others have is read once"
            )
        rows.append(Row(f"{name}, {ranks} ranks, {what}", ratio, target, at_most, detail))
    latency = summarise(found[2]["all_reduce 8 B"])
    rows.append(
        Row(
            "all_reduce 8 B, 2 ranks, us over raw",
            latency.difference * 1e6,
            LATENCY,
            True,
            latency.detail("ours", "raw"),
        )
    )
    return rows


def measure(ranks: int) -> dict[str, list[tuple[float, float]]]:
    """The pairs of seconds (ours, raw) by comparison."""
    sizes = [8, MIB, 8 * MIB, 32 * MIB] if ranks == 2 else [8 * MIB]
    result = run_ranks(
        ranks,
        Path(__file__).with_name("ccl_ranks.py"),
        *map(str, sizes),
        env={"TT_MESH_GRAPH_DESC_PATH": str(ROOT / "configs" / "mgd" / DESCRIPTORS[ranks])},
        timeout=120,
    ).check()
    lines = [json.loads(line) for line in result.ranks[0].stdout.splitlines() if line.startswith("{")]
    return {line["name"]: [(ours, raw) for ours, raw in line["pairs"]] for line in lines}


def one_process() -> list[Row]:
    """Ours with one physical copy per device against JAX, which keeps one; both in a process of their own.

    In CPU time, since both sides keep all cores busy, which others use too; the ratio of the wall times stands beside it.
    """
    labels = [
        (f"{name} {size >> 10} KiB shards, {DEVICES} devices, times faster than JAX in CPU time", target)
        for name, size, target in ONE_PROCESS
    ]
    if importlib.util.find_spec("jax") is None:
        return [skipped(label, target, "jax is not installed", at_most=False) for label, target in labels]
    done = subprocess.run(
        [
            "timeout",
            "-k",
            "5",
            "300",
            sys.executable,
            str(Path(__file__).with_name("ccl_jax.py")),
            json.dumps(ONE_PROCESS),
        ],
        env={
            **os.environ,
            "XLA_FLAGS": f"--xla_force_host_platform_device_count={DEVICES}",
            "JAX_PLATFORMS": "cpu",
            "PYTHONPATH": str(ROOT),
        },
        stdout=subprocess.PIPE,
        check=True,
    )
    rows = []
    for (label, target), line in zip(labels, done.stdout.splitlines(), strict=True):
        cpu, wall = (summarise(json.loads(line)[clock]) for clock in ("cpu", "wall"))
        detail = f"{cpu.detail('ours', 'JAX')}; by the wall {1 / wall.ratio:.3g}x"
        rows.append(Row(label, 1 / cpu.ratio, target, False, detail))
    return rows
