"""Gates on one core a token, scores that choose keys, and weights of hyper-connections, against PyTorch and plain loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.attention.test_latent_attention import call
from tests.runtime.ops.tensors import BF16, F32, ROW, TILE, U16, held, near, put, rounded
from tt_run.runtime.cores import CoreGrid
from tt_run.runtime.enums import ShardStrategy
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.conversion.layouts import to_memory_config
from tt_run.runtime.tensor.spec.memory_config import create_sharded_memory_config
from tt_run.runtime.tensor.tensor import Tensor

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")
RNG = np.random.default_rng(11)
GATE = "experimental.deepseek.moe."
PREFILL = "experimental.deepseek_prefill."


def per_core(one: MeshDevice, values: Any, dtype: Any, rows: int) -> Tensor:
    """A tensor sharded by height, one token a core."""
    memory = create_sharded_memory_config(
        (rows, 32),
        CoreGrid(x=len(values), y=1),
        ShardStrategy.HEIGHT,
        use_height_and_width_as_shard_shape=True,
    )
    return to_memory_config(put(one, values, dtype, TILE), memory)


def gate_operands(one: MeshDevice, logits: np.ndarray, bias: np.ndarray) -> tuple[list[Tensor], list[Tensor]]:
    """Tokens (B, experts) as squares, biases and ids by column, and the tensors for the results."""
    tokens, experts = logits.shape
    squares = (tokens, experts // 256, 16, 16) if experts > 256 else (tokens, 16, 16)
    ids = np.broadcast_to(np.arange(experts), logits.shape).reshape(squares).swapaxes(-1, -2)
    given = [
        per_core(one, logits.reshape(squares), BF16, experts // 8),
        per_core(one, bias.reshape(squares).swapaxes(-1, -2), BF16, experts // 8),
        per_core(one, ids, U16, experts // 8),
    ]
    room = np.zeros((tokens, 1, 16))
    return given, [per_core(one, room + 7, BF16, 32), per_core(one, room + 7, U16, 32)]


def routed(given: list[Tensor], outputs: list[Tensor], name: str, **words: Any) -> None:
    x, bias, ids = given
    found = call(
        GATE + name, x, bias_tensor=bias, input_indices_tensor=ids, output_tensor=outputs[0],
        output_indices_tensor=outputs[1], **words,
    )  # fmt: skip
    assert [each.storage for each in found] == [each.storage for each in outputs]


@pytest.mark.parametrize("experts", [256, 512])
@pytest.mark.parametrize("topk", [4, 6, 8])
@pytest.mark.parametrize("sigmoid", [False, True])
@pytest.mark.parametrize("softmax", [False, True])
def test_gate_over_all_experts(one: MeshDevice, experts: int, topk: int, sigmoid: bool, softmax: bool):
    logits, bias = (rounded(RNG.normal(size=(3, experts)), BF16) for _ in range(2))
    given, outputs = gate_operands(one, logits, bias)
    words = {"topk": topk, "enable_sigmoid": sigmoid, "output_softmax": softmax, "scaling_factor": 1.5}
    routed(given, outputs, "generalized_moe_gate", **words)
    scores = torch.from_numpy(logits)
    scores = scores.sigmoid() if sigmoid else scores
    chosen = (scores + torch.from_numpy(bias)).sort(descending=True, stable=True).indices[:, :topk]
    picked = scores.gather(-1, chosen)
    shares = picked.softmax(-1) if softmax else picked / picked.sum(-1, keepdim=True)
    wanted = np.zeros((3, 1, 16))
    wanted[:, 0, :topk] = 1.5 * shares.numpy()
    near(outputs[0], wanted)
    assert held(outputs[1])[:, 0].tolist() == np.pad(chosen.numpy(), ((0, 0), (0, 16 - topk))).tolist()


@pytest.mark.parametrize("name", ["deepseek_moe_gate", "generalized_moe_gate"])
@pytest.mark.parametrize("sigmoid", [False, True])
def test_gate_over_the_best_groups(one: MeshDevice, name: str, sigmoid: bool):
    logits, bias = (rounded(RNG.uniform(0, 1, (2, 256)), BF16) for _ in range(2))
    given, outputs = gate_operands(one, logits, bias)
    routed(given, outputs, name, enable_sigmoid=sigmoid, **({"grouped": True} if name[0] == "g" else {}))
    for token in range(2):
        scores = 1 / (1 + np.exp(-logits[token])) if sigmoid else logits[token]
        ranked = scores + bias[token]
        groups = sorted(range(8), key=lambda g: -sum(sorted(ranked[32 * g : 32 * g + 32])[-2:]))[:4]
        # Of equal ones the first expert counts, as in the operation, whatever its group.
        allowed = sorted(e for g in groups for e in range(32 * g, 32 * g + 32))
        best = sorted(allowed, key=lambda e: -ranked[e])[:8]
        assert held(outputs[1])[token, 0, :8].tolist() == best
        wanted = 2.5 * scores[best] / scores[best].sum()
        np.testing.assert_allclose(held(outputs[0])[token, 0, :8], wanted, rtol=2**-8)


def test_gate_refuses_what_a_core_cannot_take(one: MeshDevice):
    given, outputs = gate_operands(one, np.zeros((2, 512)), np.zeros((2, 512)))
    with pytest.raises(RuntimeError, match="topk must be 4, 6 or 8, got 5"):
        routed(given, outputs, "generalized_moe_gate", topk=5)
    with pytest.raises(RuntimeError, match="groups need 256 experts"):
        routed(given, outputs, "deepseek_moe_gate")
    with pytest.raises(RuntimeError, match="sharded by height"):
        routed([put(one, np.zeros((2, 2, 16, 16)), BF16), *given[1:]], outputs, "generalized_moe_gate")
    with pytest.raises(RuntimeError, match="DataType::UINT16"):
        routed([given[0], given[1], given[1]], outputs, "generalized_moe_gate")


def masked(scores: np.ndarray, positions: np.ndarray, ratio: int = 1, valid: int | None = None) -> np.ndarray:
    """Scores (…, S, T) with minus infinity where a query at its position does not see a key."""
    out = scores.copy()
    for s, position in enumerate(positions):
        out[..., s, (position + 1) // ratio :] = -np.inf
    out[..., valid if valid is not None else out.shape[-1] :] = -np.inf
    return out


def same(tensor: Tensor, device: int, wanted: np.ndarray) -> None:
    found = held(tensor, device)
    assert found.shape == wanted.shape
    assert (np.isneginf(found) == np.isneginf(wanted)).all()
    seen = np.isfinite(wanted)
    np.testing.assert_allclose(found[seen], wanted[seen], rtol=2**-7, atol=2**-7 * np.abs(wanted[seen]).max())


@pytest.mark.parametrize(
    ("ratio", "start", "kv_len"), [(1, None, None), (1, 40, 64), (4, 64, None), (4, 90, 32)]
)
def test_scores_of_gated_heads(one: MeshDevice, ratio: int, start: int | None, kv_len: int | None):
    q, k, w = (rounded(RNG.normal(size=s), BF16) for s in ((1, 4, 32, 16), (2, 1, 96, 16), (1, 1, 32, 4)))
    words = {} if start is None else {"chunk_start_idx": start}
    found = call(
        "experimental.indexer_score_dsa", put(one, q, BF16), put(one, k, BF16), put(one, w, BF16),
        key_compression_ratio=ratio, cache_batch_idx=1, kv_len=kv_len, **words,
    )  # fmt: skip
    scores = np.einsum("hst,sh->st", np.maximum(q[0] @ k[1, 0].T, 0), w[0, 0])[None, None]
    first = 96 * ratio - 32 if start is None else start
    assert found.dtype is BF16 and found.layout is ROW
    same(found, 0, masked(scores, first + np.arange(32), ratio, kv_len))


@pytest.mark.parametrize("block", [0, 32])
def test_scores_of_groups_of_heads(one: MeshDevice, block: int):
    q, k = (rounded(RNG.normal(size=s), BF16) for s in ((2, 4, 32, 16), (2, 1, 96, 16)))
    found = call(
        "experimental.indexer_score_msa", put(one, q, BF16), put(one, k, BF16), num_groups=2, scale=0.25,
        chunk_start_idx=30, block_size=block,
    )  # fmt: skip
    scores = masked((q @ k.swapaxes(-1, -2)).reshape(2, 2, 2, 32, 96).sum(2) * 0.25, 30 + np.arange(32))
    same(found, 0, scores.reshape(2, 2, 32, 3, 32).max(-1) if block else scores)


@pytest.mark.parametrize("block", [0, 32])
@pytest.mark.parametrize(("slot", "valid"), [(1, None), (None, 64), (2, 64)])
def test_scores_of_a_slot_and_of_the_first_keys(
    one: MeshDevice, block: int, slot: int | None, valid: int | None
):
    slots = 1 if slot is None else 3
    q, k = (rounded(RNG.normal(size=s), BF16) for s in ((1, 4, 32, 16), (slots, 1, 96, 16)))
    found = call(
        "experimental.indexer_score_msa", put(one, q, BF16), put(one, k, BF16), num_groups=2, scale=0.25,
        chunk_start_idx=50, block_size=block, cache_batch_idx=slot, kv_len=valid,
    )  # fmt: skip
    keys = k[slot or 0]
    scores = masked(
        (q @ keys[None].swapaxes(-1, -2)).reshape(1, 2, 2, 32, 96).sum(2) * 0.25, 50 + np.arange(32)
    )
    scores[..., valid or 96 :] = -np.inf
    same(found, 0, scores.reshape(1, 2, 32, 3, 32).max(-1) if block else scores)


@pytest.mark.parametrize(("finer", "block"), [(False, 0), (True, 0), (True, 32)])
def test_scores_of_groups_with_keys_that_are_dealt(mesh: MeshDevice, finer: bool, block: int):
    """On a mesh of 2 x 4: axis 0 deals chunks of 128 tokens and cuts the queries."""
    keys = rounded(RNG.normal(size=(512, 16)), BF16)
    q = rounded(RNG.normal(size=(1, 4, 128, 16)), BF16)
    held_keys = dealt(keys, 8, 32) if finer else dealt(keys, 2, 128)
    found = call(
        "experimental.indexer_score_msa", put(mesh, q, BF16), put(mesh, held_keys[None, None], BF16), num_groups=2,
        chunk_start_idx=256, seq_shard_axes=[0], block_cyclic_sp_axis=0, block_cyclic_chunk_local=128,
        block_cyclic_cache_tp_sharded=finer, block_size=block,
    )  # fmt: skip
    plain = (q @ keys.T).reshape(1, 2, 2, 128, 512).sum(2)
    for device in (0, 5):
        scores = masked(plain.copy(), 256 + 128 * (device // 4) + np.arange(128))
        same(found, device, scores.reshape(1, 2, 128, 16, 32).max(-1) if block else scores)


def dealt(natural: np.ndarray, stripes: int, chunk: int) -> np.ndarray:
    """Rows (T, D) in the order of a cache: the chunks of stripe 0, then those of stripe 1, …"""
    chunks = natural.reshape(-1, stripes, chunk, natural.shape[-1])
    return chunks.swapaxes(0, 1).reshape(natural.shape)


@pytest.mark.parametrize("finer", [False, True])
@pytest.mark.parametrize("start", [256, 300])
def test_scores_of_queries_and_keys_that_are_dealt(mesh: MeshDevice, start: int, finer: bool):
    """On a mesh of 2 x 4: axis 0 deals chunks of 128 tokens, axis 1 cuts each of them into 32 queries."""
    keys = rounded(RNG.normal(size=(512, 16)), BF16)
    q, w = (rounded(RNG.normal(size=s), BF16) for s in ((1, 2, 256, 16), (1, 1, 256, 2)))
    held_keys = dealt(keys, 8, 32) if finer else dealt(keys, 2, 128)
    found = call(
        "experimental.indexer_score_dsa", put(mesh, q, BF16, shard=2), put(mesh, held_keys[None, None], BF16),
        put(mesh, w, BF16, shard=2), chunk_start_idx=start, seq_shard_axes=[0, 1], block_cyclic_sp_axis=0,
        block_cyclic_chunk_local=128, block_cyclic_cache_tp_sharded=finer,
    )  # fmt: skip
    scores = np.einsum("hst,sh->st", np.maximum(q[0] @ keys.T, 0), w[0, 0])
    # The tokens of a stripe from `start` on, in order: its own chunks are every second one of 128.
    for device in range(8):
        stripe, part = divmod(device, 4)
        own = [t for t in range(start, start + 256) if t // 128 % 2 == stripe][:128]
        positions = np.array(own[32 * part : 32 * part + 32])
        same(found, device, masked(scores[32 * device : 32 * device + 32], positions)[None, None])


def test_indexer_refuses_what_does_not_fit(one: MeshDevice):
    q, k, w = (put(one, np.zeros(s), BF16) for s in ((1, 4, 32, 16), (1, 1, 64, 16), (1, 1, 32, 4)))
    for words, text in (
        ({"kv_len": 40}, "must be a multiple of 32"),
        ({"kv_len": 32, "chunk_start_idx": 40}, "with the first query, at 40, inside"),
        ({"seq_shard_axes": [2]}, "must be at most two different axes"),
        ({"block_cyclic_sp_axis": 0}, "given together"),
        ({"block_cyclic_sp_axis": 0, "block_cyclic_chunk_local": 48}, "must be 32 or 32"),
        ({"key_compression_ratio": 2}, "must be 1 or 4"),
        ({"cache_batch_idx": 3}, "outside of the 1 slots"),
    ):
        with pytest.raises(RuntimeError, match=text):
            call("experimental.indexer_score_dsa", q, k, w, **words)
    with pytest.raises(RuntimeError, match="does not divide 4 heads"):
        call("experimental.indexer_score_msa", q, k, num_groups=3)
    with pytest.raises(RuntimeError, match="takes bfloat16 and bfloat8_b"):
        call("experimental.indexer_score_msa", put(one, np.zeros((1, 4, 32, 16)), F32), k, num_groups=1)


@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize("iterations", [1, 2])
def test_weights_of_streams(one: MeshDevice, n: int, iterations: int):
    mixes = RNG.normal(size=(5, (2 + n) * n)).astype(np.float32)
    scale, base = RNG.normal(size=3), RNG.normal(size=(2 + n) * n)
    consts = np.zeros((8, 32, 32), np.float32)
    for group, (first, count) in enumerate(((0, n), (n, n), (2 * n, n * n))):
        consts[group, range(first, first + count), range(count)] = scale[group]
        consts[3 + group, :, :count] = base[first : first + count]
    consts[6:] = np.eye(32)
    row, column = np.divmod(np.arange(n * n), n)
    consts[6, : n * n, : n * n] = row[:, None] == row
    consts[7, : n * n, : n * n] = column[:, None] == column
    found = call(
        PREFILL + "mhc_split_sinkhorn", put(one, mixes, F32), put(one, consts, F32), n, iterations, 1e-6
    )
    x, scale, base = (torch.from_numpy(a.astype(np.float64)) for a in (mixes, scale, base))
    near(found[0], torch.sigmoid(x[:, :n] * scale[0] + base[:n]) + 1e-6, steps=8)
    near(found[1], 2 * torch.sigmoid(x[:, n : 2 * n] * scale[1] + base[n : 2 * n]), steps=8)
    matrix = (x[:, 2 * n :] * scale[2] + base[2 * n :]).reshape(-1, n, n).softmax(-1) + 1e-6
    for turn in range(iterations):
        if turn:
            matrix = matrix / (matrix.sum(-1, keepdim=True) + 1e-6)
        matrix = matrix / (matrix.sum(-2, keepdim=True) + 1e-6)
    near(found[2], matrix.reshape(5, n * n), steps=64)


def test_two_parts_of_sums_and_heads(one: MeshDevice):
    x = RNG.normal(size=(2, 3, 32, 96)).astype(np.float32)
    for dim in (0, 1):
        first, second = call(
            "experimental.fast_reduce_nc_split", put(one, x, F32), dim=dim, split_output_width=32
        )
        near(first, x.sum(dim, keepdims=True)[..., :32])
        near(second, x.sum(dim, keepdims=True)[..., 32:])
    heads = RNG.normal(size=(2, 1, 32, 3 * 96)).astype(np.float32)
    first, second = call(
        "experimental.nlp_create_q_heads_split", put(one, heads, F32), num_heads=3, split_head_dim=64
    )
    wanted = heads.reshape(2, 32, 3, 96).transpose(0, 2, 1, 3)
    near(first, wanted[..., :64], steps=0)
    near(second, wanted[..., 64:], steps=0)
    with pytest.raises(RuntimeError, match="two parts of whole tiles"):
        call("experimental.nlp_create_q_heads_split", put(one, heads, F32), num_heads=3, split_head_dim=48)
    with pytest.raises(RuntimeError, match="dim must be 0 or 1"):
        call("experimental.fast_reduce_nc_split", put(one, x, F32), dim=2, split_output_width=32)


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("mode", ["level", "pillar"])
def test_samples_at_offsets(one: MeshDevice, mode: str, align_corners: bool):
    sizes, (b, q, h, p, d) = [(3, 4), (1, 5)], (2, 3, 2, 4, 4)
    references = 2
    value = rounded(RNG.normal(size=(b, 17, h, d)), BF16)
    points = RNG.random((b, q, references, 2)).astype(np.float32)
    offsets = rounded(RNG.uniform(-1, 1, (b, q, h, 2, p, 2)), BF16)
    weights = rounded(RNG.random((b, q, h, 2, p)), BF16)
    places = np.zeros(offsets.shape, np.float32)
    for i in np.ndindex(b, q, h, 2, p):
        reference = points[i[0], i[1], i[3] if mode == "level" else i[4] % references]
        rows, columns = sizes[i[3]]
        for axis, side in enumerate((columns, rows)):
            step = 1 / side if not align_corners else 1 / (side - 1) if side > 1 else 0
            places[(*i, axis)] = reference[axis] + offsets[(*i, axis)] * step
    given = [
        put(one, value, BF16, ROW),
        put(one, points, F32, ROW),
        put(one, offsets, BF16, ROW),
        put(one, weights, BF16, ROW),
    ]
    words = {"align_corners": align_corners}
    found = call("experimental.fused_msda_from_offsets", *given, sizes, reference_mode=mode, **words)
    wanted = call("experimental.fused_msda", given[0], put(one, places, F32, ROW), given[3], sizes, **words)
    near(found, held(wanted), steps=1)
    assert call("experimental.can_use_fused_msda_from_offsets_l1_value", *given, sizes) is False
    with pytest.raises(RuntimeError, match="do not fit"):
        call(
            "experimental.fused_msda_from_offsets",
            given[0],
            put(one, points[:, :, :1].repeat(3, 2), F32, ROW),
            *given[2:],
            sizes,
        )
