"""Whole steps: one token of a decoder, one step of training, as sums over their operations."""

from __future__ import annotations

from dataclasses import dataclass

from tt_run.hardware.numbers import Hardware
from tt_run.runtime.model import galaxy
from tt_run.runtime.model.collectives import collective
from tt_run.runtime.model.compute import kernel, matmul
from tt_run.runtime.model.cost import cost
from tt_run.runtime.model.transformer import Network, Transformer
from tt_run.runtime.model.work import FIDELITIES, FORMAT_BYTES, Collective, Kernel, Matmul
from tt_run.runtime.tile import TILE_SIZE, tiles

UPDATED_TENSORS = 7  # of the size of the weights, read or written by a step of AdamW


@dataclass(frozen=True, slots=True)
class Split:
    """How a model lies over chips: `tensor` of them share every weight, `data` such groups serve users of their own."""

    tensor: int = 1
    data: int = 1


ONE_CHIP = Split()


def decode_step(hw: Hardware, model: Transformer, split: Split, users: int = 32) -> float:
    """Microseconds for one token of `users` users, those of all groups together.

    Over the 32 chips of a Galaxy the fused decoder runs (see `galaxy.py`); elsewhere each layer is its matmuls, read from DRAM, two
    all-reduces, the keys and values that attention reads, and the layer's other operations, whose cycles are one fitted figure.
    """
    each = max(-(-users // split.data), 1)
    if split.tensor == galaxy.ROWS * galaxy.COLUMNS and not model.latent and model.experts == 1:
        return _galaxy_step(hw, model)
    devices = split.tensor
    products = sum(matmul(hw, work).us for work in _layer_matmuls(model, devices, each))
    dense = sum(matmul(hw, work).us for work in _layer_matmuls(model, devices, each, dense=True))
    layer = (products * (model.layers - model.dense) + dense * model.dense) / model.layers
    if devices > 1:
        layer += 2 * _all_reduce(hw, model, devices, each)
    layer += _keys_and_values(model, devices, each, hw["decoder.context"]) / hw["dram.attention"]
    others = hw["decoder.other_operations"] + (hw["decoder.routing"] if model.experts > 1 else 0.0)
    layer += others / hw["chip.clock"]
    logits = Matmul(each, model.hidden, model.vocab // devices, weights=model.weights, program=model.program)
    return model.layers * layer + matmul(hw, logits).us + _next_token(hw, model, split, each)


def _next_token(hw: Hardware, model: Transformer, split: Split, each: int) -> float:
    """Choosing it: on the devices where a device's part of the vocabulary is small enough for that, else on the host, group after group."""
    if not model.host_sampling and model.vocab / split.tensor <= hw["decoder.device_vocabulary"]:
        return hw["decoder.device_sampling"] / hw["chip.clock"]
    return split.data * max(each, TILE_SIZE) * model.vocab * hw["decoder.host_logit"]


def _keys_and_values(model: Transformer, devices: int, users: int, context: float) -> float:
    """Bytes that one layer reads of what it keeps of each user: keys and values, latent ones, or the states of a recurrence."""
    if model.state:
        # Decayed, fed, added up and projected: each of the four reads or writes all of them twice.
        return 8 * users * model.ffn / devices * model.state * FORMAT_BYTES["bfloat16"]
    if model.latent:
        return users * context * (model.latent + model.rotated) * FORMAT_BYTES["bfloat8_b"]
    heads = max(model.kv_heads / devices, 1)
    return 2 * users * heads * (context + model.encoded) * model.head_dim * FORMAT_BYTES["bfloat8_b"]


def _layer_matmuls(model: Transformer, devices: int, users: int, *, dense: bool = False) -> list[Matmul]:
    """The products of a layer on one device; those of its attention, then of its feed-forward part."""
    program = "dram_sharded" if model.program == "dram_sharded" else "1d"
    gate = (
        [Matmul(users, model.hidden, max(model.experts, TILE_SIZE), program="1d")]
        if model.experts > 1
        else []
    )
    shapes = [*_mixing(model, devices), *_feeding(model, devices, users, dense)]
    return gate + [
        Matmul(users, k, n, weights=w, fidelity="LoFi" if w == "bfloat4_b" else "HiFi2", program=program)
        for k, n, w in shapes
    ]


Shapes = list[tuple[int, int, str]]


def _mixing(model: Transformer, devices: int) -> Shapes:
    """What a layer multiplies around its attention or recurrence: rows and columns of each matrix, and its format."""
    heads, hidden = max(model.heads * model.head_dim // devices, 1), model.hidden
    if model.state:
        inner = model.ffn // devices
        steps = (inner, model.step_rank + 2 * model.state), (model.step_rank, inner)
        return [(k, n, model.weights) for k, n in ((hidden, 2 * inner), *steps, (inner, hidden))]
    if model.latent:
        each = model.heads // devices
        queries = (hidden, model.query_rank), (model.query_rank, each * (model.head_dim + model.rotated))
        # Queries go into the latent space, and what they find comes back from it.
        latent = (hidden, model.latent + model.rotated), (model.head_dim, each * model.latent)
        back = (model.latent, heads), (heads, hidden)
        return [(k, n, model.weights) for k, n in (*queries, *latent, *back)]
    shapes = [(hidden, max(model.qkv // devices, 1), model.weights), (heads, hidden, model.weights)]
    # Keys and values of an encoder stay as they are.
    crossing = [(hidden, heads, model.weights), (heads, hidden, model.weights)]
    return shapes + (crossing if model.encoded else [])


def _feeding(model: Transformer, devices: int, users: int, dense: bool) -> Shapes:
    """The matrices of a layer's feed-forward part, of all experts that its users need; none for a recurrence."""
    if model.state:
        return []
    width = model.dense_ffn if dense else model.ffn
    # Of many experts, those that any of the users chose; devices share them as they share one.
    chosen = 0.0 if dense else model.experts * (1 - (1 - model.active / model.experts) ** users)
    experts = 1 if dense else max(round(chosen), 1) + model.shared
    feed = max(width // devices, 1)
    inward = [(model.hidden, feed, model.ffn_weights)] * ((2 if model.gated else 1) * experts)
    return [*inward, *[(feed, model.hidden, model.weights)] * experts]


def _all_reduce(hw: Hardware, model: Transformer, devices: int, users: int) -> float:
    """Partial sums of `users` rows, reduced and gathered again over a line or the ring that eight chips of a box close."""
    nbytes = max(users, TILE_SIZE) * model.hidden * FORMAT_BYTES["bfloat16"]
    scatter = Collective("reduce_scatter", devices, nbytes, ring=devices >= 8)
    gather = Collective("all_gather", devices, nbytes / devices, ring=devices >= 8)
    return collective(hw, scatter).us + collective(hw, gather).us


def first_token(hw: Hardware, model: Transformer, split: Split, tokens: int = 128) -> float:
    """Microseconds from a prompt of one user to its first token, sent operation by operation.

    Matrices that decoders keep cut over the banks of DRAM are read from one bank by each column of cores, which `prompt.bank_read` of
    the interleaved bandwidth is left of; few rows wait for that, many for the arithmetic. A Galaxy's chips run the chunks of `galaxy.py`.
    """
    devices = split.tensor
    if devices == galaxy.ROWS * galaxy.COLUMNS and model.experts == 1:
        chunks = -(-tokens // galaxy.CHUNK)
        works = (work for works in galaxy.prefill_layer(model, tokens) for work in works)
        layer = chunks * sum(cost(hw, work).us for work in works)
    else:
        layer = _prompt_layer(hw, model, devices, tokens)
    logits = Matmul(
        TILE_SIZE, model.hidden, model.vocab // devices, weights=model.weights, program=model.program
    )
    return model.layers * layer + matmul(hw, logits).us + _next_token(hw, model, ONE_CHIP, 1)


def _prompt_layer(hw: Hardware, model: Transformer, devices: int, tokens: int) -> float:
    """One layer over a prompt: its products, sums over devices, causal attention, and passes over its activations."""
    dense = model.dense == model.layers
    shapes = [*_mixing(model, devices), *_feeding(model, devices, tokens, dense)]
    layer = sum(_prompt_matmul(hw, model, tokens, *shape) for shape in shapes)
    if devices > 1:
        layer += 2 * _all_reduce(hw, model, devices, tokens)
    products = tiles(tokens) ** 2 * tiles(model.head_dim) * max(model.heads // devices, 1)
    layer += kernel(hw, Kernel("sdpa", products)).us
    passes = (
        hw["training.passes_over_activations"] / 3
    )  # those of the forward half of a training step's three
    moved = tokens * (model.hidden + model.ffn / devices) * FORMAT_BYTES["bfloat16"] * passes
    return layer + max(hw["decoder.other_operations"] / hw["chip.clock"], moved / hw["dram.interleaved"])


def _prompt_matmul(hw: Hardware, model: Transformer, tokens: int, k: int, n: int, weights: str) -> float:
    fidelity = "LoFi" if weights == "bfloat4_b" else "HiFi2"
    us = matmul(hw, Matmul(tokens, k, n, weights=weights, fidelity=fidelity)).us
    if model.program != "dram_sharded":
        return us
    return max(us, k * n * FORMAT_BYTES[weights] / (hw["dram.interleaved"] * hw["prompt.bank_read"]))


def _galaxy_step(hw: Hardware, model: Transformer) -> float:
    ring = hw.system != "galaxy_4u"
    layer = [works for _, works in galaxy.decode_step(model, ring)]
    between = hw["dispatch.between"]
    kernels = sum(cost(hw, work).us for works in layer for work in works)
    tail = sum(cost(hw, work).us for works in galaxy.tail(model, ring).values() for work in works)
    return model.layers * (kernels + (len(layer) - 1) * between) + tail + hw["decoder.sampling_gap"]


def training_step(hw: Hardware, model: Transformer, tokens: float, split: Split = ONE_CHIP) -> float:
    """Microseconds of one step over `tokens` tokens of all groups: forward, backward and update, operation after operation.

    Matmuls multiply three times at full precision; attention's scores are written out and read again by each of its operations, and so
    are activations; the optimizer reads weights, gradients and two moments and writes all but the gradients. A small model takes as
    long as the host needs to send its operations.
    """
    rows, bf16 = max(round(tokens / split.data), TILE_SIZE), FORMAT_BYTES["bfloat16"]
    dram = hw["dram.interleaved"]
    works = [
        Matmul(rows, k, n, fidelity="HiFi4")
        for k, n in [
            (model.hidden, max(model.qkv // split.tensor, TILE_SIZE)),
            (max(model.heads * model.head_dim // split.tensor, TILE_SIZE), model.hidden),
            *[(model.hidden, max(model.ffn // split.tensor, TILE_SIZE))] * (2 if model.gated else 1),
            (max(model.ffn // split.tensor, TILE_SIZE), model.hidden),
        ]
    ]
    heads, wide = max(model.heads / split.tensor, 1), model.ffn / split.tensor
    pairs = rows * min(model.context, rows)
    scores = heads * pairs * bf16 * hw["training.passes_over_scores"] / dram
    products = (
        2 * 2 * pairs * heads * model.head_dim / (_peak(hw, "HiFi4") * hw["training.score_utilisation"])
    )
    activations = rows * (model.hidden + wide) * bf16 * hw["training.passes_over_activations"] / dram
    layer = 3 * (sum(matmul(hw, work).us for work in works) + products) + scores + activations
    if split.tensor > 1:
        layer += 4 * _all_reduce(hw, model, split.tensor, rows)
    loss = Matmul(rows, model.hidden, max(model.vocab // split.tensor, TILE_SIZE), fidelity="HiFi4")
    logits = rows * model.vocab / split.tensor * bf16 * hw["training.passes_over_logits"] / dram
    weights = model.parameters / split.tensor * bf16
    step = model.layers * layer + 3 * matmul(hw, loss).us + logits + UPDATED_TENSORS * weights / dram
    if split.data > 1:
        gradients = Collective("all_reduce", split.data, weights, ring=split.data >= 8)
        step += collective(hw, gradients).us
    sent = (model.layers * hw["training.operations_per_layer"] + hw["training.operations_around"]) * hw[
        "dispatch.host"
    ]
    return max(step, sent)


def _peak(hw: Hardware, fidelity: str) -> float:
    """Operations per microsecond of all cores."""
    per_cycle = 2 * TILE_SIZE**3 / (hw["matmul.cycles_per_tile"] * FIDELITIES[fidelity])
    return per_cycle * hw["chip.cores_used"] * hw["chip.clock"]


def inference(hw: Hardware, network: Network, batch: int, replicas: int = 1) -> float:
    """Microseconds of one batch through a network that is no decoder, on each of `replicas` chips, from a trace."""
    each = max(-(-batch // replicas), 1)
    flops = network.gflops * 1e9 * each
    arithmetic = flops / (_peak(hw, network.fidelity) * hw[f"network.utilisation.{network.kind}"])
    sent = network.operations * (hw["matmul.fixed"] + hw["dispatch.between"])
    weights = network.parameters * FORMAT_BYTES["bfloat8_b"] / hw["dram.interleaved"]
    return network.evaluations * (max(arithmetic, weights) + sent)
