"""What an operation costs one device: a roofline over the cores' arithmetic, DRAM and the fixed part of a kernel."""

from __future__ import annotations

from tt_run.hardware.numbers import Hardware
from tt_run.runtime.model.work import FIDELITIES, FORMAT_BYTES, Cost, Kernel, Matmul, cost_of
from tt_run.runtime.tile import TILE_SIZE, tiles


def matmul(hw: Hardware, work: Matmul) -> Cost:
    """Time of a matrix product on one device. Sources: the reports on GEMM performance and on decoders that the data files name."""
    if work.program == "ring":
        return _ring(hw, work)
    if work.program == "dram_sharded":
        return _dram_sharded(hw, work)
    if work.program == "1d":
        return _one_dimensional(hw, work)
    if work.program == "batched":
        return _batched(hw, work)
    if work.program == "few":
        # Fewer rows must not take longer than more of them would over a grid.
        return min(_one_dimensional(hw, work), _two_dimensional(hw, work), key=lambda found: found.us)
    return _two_dimensional(hw, work)


def kernel(hw: Hardware, work: Kernel) -> Cost:
    """Time of any other operation: its fixed part, then arithmetic over the cores and DRAM traffic side by side.

    `units` are tiles over all cores; a kernel that the file does not name costs what `other` does.
    """
    if work.name == "host":
        return cost_of({"latency": hw["host.call"], "host": work.bytes / hw["host.bandwidth"]})
    name = work.name if f"kernels.{work.name}.fixed" in hw else "other"
    clock = hw["chip.clock"]
    cores = int(hw["chip.cores_used"])
    cores = min(work.cores or cores, cores)
    compute = -(-work.units // cores) * hw[f"kernels.{name}.per_tile"] / clock
    bandwidth = hw["dram.attention" if name == "sdpa_decode" else "dram.interleaved"] if work.bytes else 1.0
    dram = work.bytes / bandwidth
    fixed = hw[f"kernels.{name}.fixed"] / clock
    parts = {"latency": fixed, "compute": compute, "dram": dram}
    return _dispatched(hw, parts, fixed + max(compute, dram), work.traced)


def _dispatched(hw: Hardware, parts: dict[str, float], us: float, traced: bool) -> Cost:
    """The same work when the host sends it op by op: never faster than the host can, and a little more per call."""
    if traced:
        return cost_of(parts, us)
    host = hw["dispatch.host"]
    parts = {**parts, "dispatch": max(host - us, 0.0) + hw["dispatch.enqueue"]}
    return cost_of(parts, us + parts["dispatch"])


def ideal(hw: Hardware, work: Matmul) -> float:
    """Microseconds that the arithmetic of a product takes on all cores of its grid, at its fidelity and nothing else in the way."""
    columns, rows = work.grid or (int(hw["chip.grid_columns"]), int(hw["chip.grid_rows"]))
    count = work.m * work.k * work.n * work.batch / TILE_SIZE**3
    cycles = hw["matmul.cycles_per_tile"] * FIDELITIES[work.fidelity]
    return count * cycles / (columns * rows) / hw["chip.clock"]


def _cycles_per_tile(hw: Hardware, work: Matmul) -> float:
    """Cycles that one core takes to multiply two tiles, at this fidelity and what the operands' format lets the unpacker reach."""
    return hw["matmul.cycles_per_tile"] * FIDELITIES[work.fidelity] / hw[f"matmul.efficiency.{work.weights}"]


def _bytes(rows: int, columns: int, format_name: str) -> float:
    return tiles(rows) * tiles(columns) * TILE_SIZE * TILE_SIZE * FORMAT_BYTES[format_name]


def _two_dimensional(hw: Hardware, work: Matmul) -> Cost:
    """Blocks of the output over a grid; both operands are multicast along it, step by step over k.

    What fits beside its output in L1 is read once; what does not is cut into blocks, and operands are read again (`blocked`). Reading hides
    behind the arithmetic, as far as there is any: no product is done before DRAM has given its weights.
    """
    columns, rows = work.grid or (int(hw["chip.grid_columns"]), int(hw["chip.grid_rows"]))
    m, k, n = (tiles(x) for x in (work.m, work.k, work.n))
    count = -(-m // rows) * -(-n // columns) * k * work.batch
    compute = count * _cycles_per_tile(hw, work) / hw["chip.clock"]
    held = (work.m * work.k + work.m * work.n) / (rows * columns)
    blocked = held > hw["matmul.elements_in_l1"]
    if blocked:
        compute *= hw[f"matmul.blocked.{work.weights}"]
    moved = _bytes(work.m, work.k, work.activations) + _bytes(work.m, work.n, work.output)
    dram = (
        work.batch
        * moved
        / hw["matmul.activation_bandwidth.blocked" if blocked else "matmul.activation_bandwidth.sharded"]
    )
    dram += work.batch * _bytes(work.k, work.n, work.weights) / hw["matmul.weight_bandwidth"]
    latency = hw["matmul.fixed"] + k * hw["matmul.k_step"]
    least = work.batch * _bytes(work.k, work.n, work.weights) / hw["dram.interleaved"]
    us = max(compute + dram, least) + latency
    parts = {"compute": compute, "dram": least if us > compute + dram + latency else dram, "latency": latency}
    return _dispatched(hw, parts, us, work.traced)


def _one_dimensional(hw: Hardware, work: Matmul) -> Cost:
    """Few rows: every core has a slice of n; each step over k waits for the activations' multicast or for the weights."""
    cores = int(hw["chip.cores_used"])
    m, k, n = (tiles(x) for x in (work.m, work.k, work.n))
    compute = m * -(-n // cores) * k * work.batch * _cycles_per_tile(hw, work) / hw["chip.clock"]
    steps = k * work.batch * hw["matmul.one_dimensional_step"] / hw["chip.clock"]
    dram = work.batch * _bytes(work.k, work.n, work.weights) / hw["dram.interleaved"]
    fixed = hw["matmul.fixed"]
    parts = {"compute": compute, "latency": fixed + steps, "dram": dram}
    return _dispatched(hw, parts, fixed + max(compute, steps, dram), work.traced)


def _batched(hw: Hardware, work: Matmul) -> Cost:
    """Both operands have the batch: its products are shared over the cores, output tile by output tile, each read from DRAM once."""
    columns, rows = work.grid or (int(hw["chip.grid_columns"]), int(hw["chip.grid_rows"]))
    m, k, n = (tiles(x) for x in (work.m, work.k, work.n))
    each = -(-work.batch * m * n // (rows * columns)) * k
    compute = each * _cycles_per_tile(hw, work) / hw["chip.clock"]
    moved = _bytes(work.m, work.k, work.activations) + _bytes(work.k, work.n, work.weights)
    moved += _bytes(work.m, work.n, work.output)
    dram = work.batch * moved / hw["dram.interleaved"]
    fixed = hw["matmul.fixed"]
    parts = {"compute": compute, "dram": dram, "latency": fixed}
    return _dispatched(hw, parts, fixed + max(compute, dram), work.traced)


def _ring(hw: Hardware, work: Matmul) -> Cost:
    """Activations travel a ring of cores that hold their weights: k and n are padded to the ring. The weights were prefetched."""
    cores = int(hw["matmul.ring_cores"])
    k, n = (-(-tiles(x) // cores) for x in (work.k, work.n))
    compute = tiles(work.m) * k * cores * n * _cycles_per_tile(hw, work) / hw["chip.clock"]
    latency = hw["matmul.ring_fixed"] / hw["chip.clock"]
    return cost_of({"compute": compute, "latency": latency})


def _dram_sharded(hw: Hardware, work: Matmul) -> Cost:
    """Few rows, weights sharded over the DRAM banks: the time it takes to read them."""
    dram = work.batch * _bytes(work.k, work.n, work.weights) / hw["dram.sharded"]
    clock = hw["chip.clock"]
    compute = tiles(work.m) * tiles(work.k) * tiles(work.n) * _cycles_per_tile(hw, work) / clock
    compute /= hw["dram.banks"]
    fixed = hw["matmul.ring_fixed"] / clock
    parts = {"compute": compute, "dram": dram, "latency": fixed}
    return _dispatched(hw, parts, fixed + max(compute, dram), work.traced)
