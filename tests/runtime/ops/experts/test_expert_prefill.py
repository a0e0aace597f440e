"""Prefill of mixtures of experts against NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.runtime.ops.attention.test_attention import sample
from tests.runtime.ops.attention.test_latent_attention import call
from tests.runtime.ops.tensors import BF16, F32, ROW, U32, held, near, put, rounded
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tuning.choices import RoutedExpertActivation

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("float32_too")]
torch = pytest.importorskip("torch")
PREFILL = "experimental.deepseek_prefill."


def counts(one: MeshDevice, *numbers: int) -> object:
    return put(one, np.array(numbers, np.uint32), DataType.UINT32, ROW)


def test_tokens_of_an_expert_out_of_a_buffer_and_back(one: MeshDevice) -> None:
    buffer = sample(BF16, 256, 64)
    start, number, table = counts(one, 0, 64, 96), counts(one, 40, 7, 100), counts(one, 2, 0)
    whole = put(one, buffer, BF16)
    rows = call(
        PREFILL + "extract",
        whole,
        start,
        number,
        table,
        local_expert_id=0,
        max_dispatched_tokens_per_expert=160,
    )
    wanted = np.zeros((160, 64), np.float32)
    wanted[:128] = buffer[96:224]
    near(rows, wanted, steps=0)
    local = put(one, np.full((160, 64), 3, np.float32), BF16)
    assert (
        call(PREFILL + "insert", whole, local, start, number, table, local_expert_id=1).storage
        is whole.storage
    )
    buffer[:64] = 3
    near(whole, buffer, steps=0)


@pytest.mark.listening  # what is refused follows from values: there is nothing to compare with a run in shapes
def test_more_tokens_than_fit_are_refused(one: MeshDevice) -> None:
    whole = put(one, sample(BF16, 256, 64), BF16)
    start, number, table = counts(one, 0, 64, 96), counts(one, 40, 7, 100), counts(one, 2, 0)
    with pytest.raises(RuntimeError, match="do not fit into"):
        call(
            PREFILL + "extract",
            whole,
            start,
            number,
            table,
            local_expert_id=0,
            max_dispatched_tokens_per_expert=64,
        )


def test_counts_of_chosen_experts(one: MeshDevice) -> None:
    chosen = np.array([[0, 3, 9], [3, 4, 9], [3, 1, 9]])
    ids = put(one, chosen, DataType.UINT16, Layout.TILE)
    mask = put(one, np.array([0, 0, 1, 1, -1, -1]), DataType.INT32, ROW)
    found = call(PREFILL + "masked_bincount", ids, mask, 6, 2)
    assert found.to_numpy().tolist() == [1, 1, 0, 3, 0, 0]


def test_sums_over_a_tokens_experts(one: MeshDevice) -> None:
    x, w = sample(BF16, 1, 1, 8, 4, 32), sample(BF16, 1, 1, 8, 4, 1, seed=1)
    x[0, 0, 2, 1] = np.nan  # what nobody wrote
    w[0, 0, 2, 1] = 0
    rows = put(one, x, BF16, ROW), put(one, w, BF16, ROW)
    out = call(PREFILL + "post_combine_reduce", *rows)
    near(out, rounded((np.nan_to_num(x) * w).sum(3).astype(np.float32), BF16), steps=1)
    ids = put(one, np.tile(np.arange(4), (1, 1, 8, 1)), DataType.UINT16, ROW)
    table = put(one, np.array([0, -1, 0, -1]), DataType.INT32, ROW)
    near(
        call(PREFILL + "post_combine_reduce", *rows, ids, table),
        rounded((x * w)[..., [0, 2], :].sum(3).astype(np.float32), BF16),
        steps=1,
    )
    with pytest.raises(RuntimeError, match="given together"):
        call(PREFILL + "post_combine_reduce", *rows, ids)
    signed = put(one, np.zeros((1, 1, 8, 4)), DataType.INT32, ROW)
    for given, words in (
        ((put(one, x, F32, ROW), rows[1]), "combine_output must be bfloat16"),
        ((put(one, x, BF16), put(one, w, BF16)), "combine_output must be ROW_MAJOR"),
        (
            (*rows, signed, table),
            r"indices must be uint16 \(matching moe_grouped_topk output\), got DataType::INT32",
        ),
        ((*rows, ids, ids), "expert_dispatch_table must be int32"),
        (
            (rows[0], put(one, w[..., 0], BF16, ROW)),
            "weights rank must match combine_output rank: got weights rank 4 and",
        ),
        (
            (rows[0], put(one, w[:, :, :, :2], BF16, ROW)),
            r"weights padded_shape\[3\] \(2\) must match combine_output",
        ),
    ):
        with pytest.raises(RuntimeError, match=words):
            call(PREFILL + "post_combine_reduce", *given)


def test_sums_of_fused_parts(one: MeshDevice) -> None:
    experts, scores = sample(F32, 3, 1, 32, 64), sample(F32, 32, 1, 1, 2, seed=2)
    parts = call(
        "experimental.deepseek_moe_fast_reduce_nc_fused", put(one, experts), put(one, scores, F32, ROW), put(one, scores, F32, ROW), 0,
        split_size=32, cluster_axis=0, scores_tensor=put(one, scores, F32, ROW), num_shared_experts=1, shared_expert_scale=0.5,
    )  # fmt: skip
    weight = np.concatenate([scores.reshape(32, 2).T, np.full((1, 32), 0.5)]).reshape(3, 1, 32, 1)
    near(parts[1], (experts * weight).sum(0, keepdims=True)[..., 32:].astype(np.float32), steps=16)


@pytest.mark.parametrize("function", ["sigmoid", "sqrtsoftplus"])
def test_gate_of_groups(one: MeshDevice, function: str) -> None:
    scores, bias = sample(F32, 1, 1, 5, 256), sample(F32, 1, 1, 5, 256, seed=1)
    weights, indices = call(
        PREFILL + "moe_grouped_topk", put(one, scores), put(one, bias), route_scale=2.5, score_func=function
    )
    x = torch.from_numpy(scores)
    plain = torch.sigmoid(x) if function == "sigmoid" else torch.nn.functional.softplus(x).sqrt()
    biased = (plain + torch.from_numpy(bias)).reshape(1, 1, 5, 8, 32)
    best = biased.topk(2, -1).values.sum(-1).topk(4, -1).indices
    allowed = torch.full_like(biased, -torch.inf)
    where = best[..., None].expand(*best.shape, 32)
    allowed.scatter_(-2, where, biased.gather(-2, where))
    chosen = allowed.flatten(-2).topk(8, -1).indices
    assert np.array_equal(indices.to_numpy(), chosen.numpy())
    wanted = plain.gather(-1, chosen)
    near(weights, (wanted / wanted.sum(-1, keepdim=True) * 2.5).numpy(), steps=2)
    with pytest.raises(RuntimeError, match="Unsupported score_func 'relu'"):
        call(PREFILL + "moe_grouped_topk", put(one, scores), put(one, bias), score_func="relu")
    seen = put(one, np.zeros_like(scores))
    for side, real in enumerate(([0, 1, 2], [2, 3, 4])):
        _, padded = call(
            PREFILL + "moe_grouped_topk", put(one, scores), put(one, bias), score_func=function, biased_scores=seen,
            padding_config=put(one, [[3, side]], U32, ROW),
        )  # fmt: skip
        left = np.full_like(indices.to_numpy(), 256)
        left[0, 0, real] = chosen[0, 0, real]
        assert np.array_equal(padded.to_numpy(), left)
    near(seen, biased.reshape(1, 1, 5, 256).numpy(), steps=2)
    for words, message in (
        ({"padding_config": put(one, [[3.0, 0.0]])}, "ROW_MAJOR UINT32 tensor"),
        ({"biased_scores": put(one, scores, BF16)}, "must be FLOAT32"),
    ):
        with pytest.raises(RuntimeError, match=message):
            call(PREFILL + "moe_grouped_topk", put(one, scores), put(one, bias), **words)


def test_experts_on_their_rows(one: MeshDevice) -> None:
    buffer = sample(F32, 128, 32)
    gates, ups = ([sample(F32, 32, 64, seed=s) for s in (k, k + 1)] for k in (1, 3))
    downs = [sample(F32, 64, 32, seed=s) for s in (5, 6)]

    def expert(x: np.ndarray, i: int) -> np.ndarray:
        gate = x @ gates[i]
        return (gate / (1 + np.exp(-gate)) * (x @ ups[i])) @ downs[i]

    single = call(PREFILL + "routed_expert_ffn", *(put(one, a) for a in (buffer, gates[0], ups[0], downs[0])))
    near(single, expert(buffer, 0), steps=64)
    wanted = np.zeros_like(buffer)
    wanted[:32], wanted[32:96] = expert(buffer[:32], 1), expert(buffer[32:96], 0)
    found = call(
        PREFILL + "unified_routed_expert_moe", put(one, buffer), counts(one, 0, 32), counts(one, 9, 50), counts(one, 1, 0),
        *([put(one, a) for a in each] for each in (gates, ups, downs)), 64,
    )  # fmt: skip
    near(found, wanted, steps=64)


@pytest.mark.parametrize("kind", ["Silu", "SwiGluOai", "ClampedSiluGlu"])
def test_experts_with_biases_by_either_kernel(one: MeshDevice, kind: str) -> None:
    buffer = sample(F32, 128, 32) * 1.5
    shapes = [(32, 64), (32, 64), (64, 32), (1, 64), (1, 64), (1, 32)]
    values = [[sample(F32, *shape, seed=10 * e + i) for e in (0, 1)] for i, shape in enumerate(shapes)]

    def expert(x: np.ndarray, e: int) -> np.ndarray:
        gate, up = (x @ values[i][e] + values[3 + i][e] for i in (0, 1))
        if kind == "SwiGluOai":
            gate = np.minimum(gate, 7)
            hidden = gate / (1 + np.exp(-1.702 * gate)) * (np.clip(up, -7, 7) + 1)
        else:
            limit = 10 if kind == "ClampedSiluGlu" else np.inf
            gate = np.minimum(gate, limit)
            hidden = gate / (1 + np.exp(-gate)) * np.clip(up, -limit, limit)
        return hidden @ values[2][e] + values[5][e]

    wanted = np.zeros_like(buffer)
    wanted[:32], wanted[32:96] = expert(buffer[:32], 1), expert(buffer[32:96], 0)
    tensors = [[put(one, a) for a in each] for each in values]
    words = {"activation": getattr(RoutedExpertActivation, kind)}
    words |= dict(zip(("gate_biases", "up_biases", "down_biases"), tensors[3:], strict=True))
    first, number, table = counts(one, 0, 32), counts(one, 9, 50), counts(one, 1, 0)
    x = put(one, buffer)
    unified = call(PREFILL + "unified_routed_expert_moe", x, first, number, table, *tensors[:3], 64, **words)
    near(unified, wanted, steps=64)
    hybrid = call(
        PREFILL + "hybrid_routed_expert_moe",
        x,
        first,
        number,
        table,
        *tensors[:3],
        64,
        hybrid_token_threshold=20,
        **words,
    )
    near(hybrid, held(unified), steps=0)
    words |= {"expert_region_offsets": first, "read_x_at_offset": True}
    fused = call(PREFILL + "moe_fused_swiglu", x, *tensors[:3], number, table, dtype=F32, **words)
    near(fused, held(unified), steps=0)
    packed = call(PREFILL + "moe_fused_swiglu", x, *tensors[:3], number, table, **words)
    assert packed.dtype is DataType.BFLOAT8_B and packed.layout is Layout.TILE
    near(packed, wanted)
    with pytest.raises(RuntimeError, match="for rows at their regions only"):
        call(PREFILL + "moe_fused_swiglu", x, *tensors[:3], number, table)
    with pytest.raises(RuntimeError, match="biases all three or none"):
        call(
            PREFILL + "unified_routed_expert_moe",
            x,
            first,
            number,
            table,
            *tensors[:3],
            64,
            gate_biases=tensors[3],
        )


def test_rows_of_bytes_are_those_that_sparse_attention_reads(one: MeshDevice) -> None:
    latents, scales, columns = (
        rounded(sample(F32, 1, 1, 4, 512), DataType.FP8_E4M3),
        sample(F32, 1, 1, 4, 4),
        sample(F32, 1, 1, 4, 64),
    )
    rope = rounded(columns, BF16)
    found = call(
        PREFILL + "pack_scaled_fp8_kv_cache",
        put(one, latents, DataType.FP8_E4M3, ROW),
        put(one, scales, F32, ROW),
        put(one, rope, BF16, ROW),
    )
    rows = held(found)
    assert found.dtype is DataType.UINT8 and rows.shape == (1, 1, 4, 656)
    assert np.array_equal(rows[..., :512].view(ml_dtypes.float8_e4m3fn).astype(np.float32), latents)
    assert np.array_equal(rows[..., 512:528].copy().view(np.float32), scales)
    assert np.array_equal(rows[..., 528:].copy().view(ml_dtypes.bfloat16).astype(np.float32), rope)
    with pytest.raises(RuntimeError, match="do not fit side by side"):
        call(
            PREFILL + "pack_scaled_fp8_kv_cache",
            put(one, latents, DataType.FP8_E4M3, ROW),
            put(one, scales[..., :2], F32, ROW),
            put(one, rope, BF16, ROW),
        )


def test_room_for_what_is_handed_on(mesh: MeshDevice) -> None:
    """As large as the reference's."""
    room = PREFILL + "hybrid_routed_expert_moe_forwarding_buffer"
    sizes = {"emb_dim": 64, "experts_per_chip": 2, "num_experts_per_tok": 2, "seq_len_per_chip": 64}
    for words, shape in (
        ({}, (136, 48)),
        ({"combine_num_links": 3}, (138, 48)),
        ({"num_experts_per_tok": 3, "seq_len_per_chip": 50}, (156, 48)),
        (
            {"emb_dim": 96, "experts_per_chip": 1, "num_experts_per_tok": 8, "seq_len_per_chip": 4096},
            (32772, 64),
        ),
    ):
        found = call(room, mesh, combine_axis=1, **{**sizes, **words})
        assert tuple(found.shape) == shape and found.dtype is DataType.UINT32
    with pytest.raises(RuntimeError, match="forwarding page 264 B must be 64-byte aligned"):
        call(room, mesh, combine_axis=1, **{**sizes, "emb_dim": 100})
    with pytest.raises(RuntimeError, match="2 devices along axis 0 hand nothing on"):
        call(room, mesh, **sizes)
