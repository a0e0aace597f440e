"""Whole steps: one token of a decoder, one step of training, as sums over their operations."""

from __future__ import annotations

from tt_run.runtime.model import galaxy
from tt_run.runtime.model.collectives import collective
from tt_run.runtime.model.compute import matmul
from tt_run.runtime.model.cost import cost
from tt_run.runtime.model.hardware import Hardware
from tt_run.runtime.model.transformer import Transformer
from tt_run.runtime.model.work import FIDELITIES, FORMAT_BYTES, TILE, Collective, Matmul


def decode_step(hw: Hardware, model: Transformer, devices: int, users: int = 32) -> float:
    """Microseconds for one token of `users` users on `devices` chips that share every weight.

    Over the 32 chips of a Galaxy the fused decoder runs (see `galaxy.py`); elsewhere each layer is its matmuls, read from DRAM, two
    all-reduces, and the other operations of a layer, whose number of cycles is one fitted figure.
    """
    if devices == galaxy.ROWS * galaxy.COLUMNS:
        return _galaxy_step(hw, model)
    layer = sum(matmul(hw, work).us for work in _layer_matmuls(model, devices, users))
    if devices > 1:
        layer += 2 * _all_reduce(hw, model, devices, users)
    others = hw["decoder.other_operations"] / hw["chip.clock"]
    logits = Matmul(users, model.hidden, model.vocab // devices, weights=model.weights, program=model.program)
    return (
        model.layers * (layer + others) + matmul(hw, logits).us + hw["decoder.last_token"] / hw["chip.clock"]
    )


def _layer_matmuls(model: Transformer, devices: int, users: int) -> list[Matmul]:
    feed, heads = model.ffn // devices, model.heads * model.head_dim // devices
    shapes = [
        (model.hidden, model.qkv // devices, model.weights),
        (heads, model.hidden, model.weights),
        *[(model.hidden, feed, model.ffn_weights)] * ((2 if model.gated else 1) * model.experts),
        *[(feed, model.hidden, model.weights)] * model.experts,
    ]
    return [
        Matmul(
            users,
            k,
            n,
            weights=w,
            fidelity="LoFi" if w == "bfloat4_b" else "HiFi2",
            program="dram_sharded" if model.program == "dram_sharded" else "1d",
        )
        for k, n, w in shapes
    ]


def _all_reduce(hw: Hardware, model: Transformer, devices: int, users: int) -> float:
    """Partial sums of `users` rows, reduced and gathered again over a line or the ring that eight chips of a box close."""
    nbytes = max(users, TILE) * model.hidden * FORMAT_BYTES["bfloat16"]
    scatter = Collective("reduce_scatter", devices, nbytes, ring=devices >= 8)
    gather = Collective("all_gather", devices, nbytes / devices, ring=devices >= 8)
    return collective(hw, scatter).us + collective(hw, gather).us


def _galaxy_step(hw: Hardware, model: Transformer) -> float:
    ring = hw.system != "galaxy_4u"
    layer = [works for _, works in galaxy.decode_step(model, ring)]
    between = hw["dispatch.between"]
    kernels = sum(cost(hw, work).us for works in layer for work in works)
    tail = sum(cost(hw, work).us for works in galaxy.tail(model, ring).values() for work in works)
    return model.layers * (kernels + (len(layer) - 1) * between) + tail + hw["decoder.sampling_gap"]


def training_step(hw: Hardware, model: Transformer, tokens: int | None = None) -> float:
    """Microseconds of one step over so many tokens (those of the shipped configuration): forward, backward and update.

    Arithmetic is six operations per weight and token at full precision, at the part of the peak that training kernels reach; small
    models take as long as the host needs to send their operations.
    """
    flops = 6 * model.parameters * (tokens or hw["training.tokens"])
    per_cycle = 2 * TILE**3 / (hw["matmul.cycles_per_tile"] * FIDELITIES["HiFi4"])
    peak = per_cycle * hw["chip.cores_used"] * hw["chip.clock"]
    dispatch = model.layers * hw["training.operations_per_layer"] * hw["dispatch.host"]
    return max(flops / (peak * hw["training.utilisation"]), dispatch)
