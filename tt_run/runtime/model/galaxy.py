"""The decoder as it runs over all 32 chips of a Galaxy: what the published names of its operations compute on one device.

The mesh is 8x4. The hidden dimension is split over the 4 columns, heads and the feed-forward dimension over the 8 rows, so partial sums of
one kind are reduced over the columns and of the other over the rows. Decoding keeps activations in L1; prompts go through in chunks.
Source: the operations' order and names in the public performance targets of that demonstration.
"""

from __future__ import annotations

from collections.abc import Callable

from tt_run.runtime.model.transformer import Transformer
from tt_run.runtime.model.work import FORMAT_BYTES, Collective, Kernel, Matmul, Work
from tt_run.runtime.tile import tiles, whole_tiles

ROWS, COLUMNS = 8, 4
BATCH = 32
CHUNK = 4096  # a longer prompt is worked through in chunks of this many tokens
FUSED_CORES = 16

Works = tuple[Work, ...]


def decode_step(model: Transformer, ring: bool) -> list[tuple[str, Works]]:
    """The operations of one layer in their order, with what each computes."""
    named = decoder(model, ring)
    order = [
        "RMS",
        "QKV_MM",
        "LlamaReduceScatterCreateHeads",
        "RotaryEmbeddingLlamaFusedQK",
        "PagedUpdateCache",
        "SDPA",
        "AllGatherConcat",
        "DO_MM",
        "AllReduceAsync_DO",
        "RMS",
        "ReduceScatter_FF1_MM_FF3",
        "ReduceScatter_FF3",
        "Binary_Mult_Silu",
        "AllGatherAsync_Binary_Mult",
        "FF2_MM",
        "AllReduceAsync_FF2",
    ]
    return [(name, named[name]) for name in order]


def decoder(model: Transformer, ring: bool) -> dict[str, Works]:
    """One decoded token for 32 users: the operations of a layer by their published labels."""
    hidden, ffn = model.hidden // COLUMNS, model.ffn // ROWS
    heads = model.heads * model.head_dim // ROWS
    bfp8 = FORMAT_BYTES["bfloat8_b"]

    def matmul(k: int, n: int, weights: str, fidelity: str) -> Matmul:
        return Matmul(
            BATCH, k, n, activations="bfloat8_b", weights=weights, fidelity=fidelity, program="ring"
        )

    def over(size: int, kind: str, width: float) -> Collective:
        return Collective(kind, size, BATCH * width * bfp8, ring=ring, implementation="decode")

    feed = matmul(hidden, ffn, model.ffn_weights, "LoFi")
    scattered = over(COLUMNS, "reduce_scatter", ffn)
    return {
        "Embeddings": (Kernel("embedding_decode", tiles(hidden)),),
        "LayerNorm": (Kernel("layer_norm_decode", tiles(hidden), cores=FUSED_CORES),),
        "RMS": (Kernel("rms_all_gather", tiles(hidden), cores=FUSED_CORES),),
        "QKV_MM": (matmul(hidden, model.qkv // ROWS, model.weights, "HiFi2"),),
        "LlamaReduceScatterCreateHeads": (
            over(COLUMNS, "reduce_scatter", model.qkv // ROWS),
            Kernel("create_heads_decode", 1),
        ),
        "RotaryEmbeddingLlamaFusedQK": (Kernel("rotary_decode", tiles(heads)),),
        "PagedUpdateCache": (Kernel("update_cache_decode", 1),),
        "SDPA": (Kernel("sdpa_decode", tiles(heads)),),
        "AllGatherConcat": (
            over(COLUMNS, "all_gather", heads / COLUMNS),
            Kernel("concat_heads_decode", 1),
        ),
        "DO_MM": (matmul(heads, hidden, model.weights, "HiFi2"),),
        "AllReduceAsync_DO": (over(ROWS, "all_reduce_by_gather", hidden),),
        "FF1_MM": (feed,),
        # Both matmuls into the feed-forward part; the first one's partial sums are scattered under the second.
        "ReduceScatter_FF1_MM_FF3": (feed, feed),
        "ReduceScatter_FF3": (scattered,),
        "Binary_Mult_Silu": (Kernel("binary_decode", tiles(ffn) / COLUMNS, cores=1),),
        "AllGatherAsync_Binary_Mult": (over(COLUMNS, "all_gather", ffn / COLUMNS),),
        "FF2_MM": (matmul(ffn, hidden, model.weights, "HiFi2"),),
        "AllReduceAsync_FF2": (over(ROWS, "all_reduce_by_gather", hidden),),
    }


def tail(model: Transformer, ring: bool) -> dict[str, Works]:
    """What follows the last layer: norm, logits, and the choice of the next token."""
    hidden = model.hidden // COLUMNS
    logits = whole_tiles(-(-model.vocab // ROWS))
    small = Collective("all_gather", ROWS, BATCH * 64 * 2, ring=ring, implementation="decode_host")
    return {
        "Last_Residual": (Kernel("binary_last", 1),),
        "RMSAllGather": (Kernel("rms_all_gather_last", tiles(hidden), cores=FUSED_CORES),),
        "Matmul": (
            Matmul(
                BATCH,
                hidden,
                logits,
                activations="bfloat8_b",
                weights=model.weights,
                fidelity="HiFi2",
                program="dram_sharded",
            ),
        ),
        "AllReduceAsync": (
            Collective(
                "all_reduce_by_gather",
                COLUMNS,
                BATCH * logits * FORMAT_BYTES["bfloat8_b"],
                ring=ring,
                implementation="decode",
            ),
        ),
        "AllGatherAsync": (small,),
        "ShardedToInterleavedDeviceOperation_0": (Kernel("to_interleaved_logits", tiles(logits)),),
        "ShardedToInterleavedDeviceOperation_1": (Kernel("to_interleaved", 1),),
        "InterleavedToSharded_1": (Kernel("to_sharded", 1, cores=1),),
        "InterleavedToSharded_2": (Kernel("to_sharded", 2, cores=1),),
        "Reshard_0": (Kernel("reshard", 1),),
        "Reshard_1": (Kernel("reshard_residual", 1),),
        "TypecastDeviceOperation_input_bf16": (Kernel("typecast_logits", tiles(logits)),),
        "TypecastDeviceOperation_0": (Kernel("typecast", 1),),
        "TopK": (Kernel("topk", tiles(logits), cores=1),),
        "Sampling": (Kernel("sampling", 1),),
        "Indices_Correction": (Kernel("binary_indices", 1),),
        "PlusOne_0": (Kernel("plus_one", 1),),
        "PlusOne_1": (Kernel("plus_one_positions", 1),),
    }


def prefill(model: Transformer, tokens: int) -> dict[str, Works]:
    """One chunk of a prompt: the operations of a layer by their published labels."""
    rows = min(tokens, CHUNK)
    hidden, ffn = model.hidden // COLUMNS, model.ffn // ROWS
    heads, kv = model.heads * model.head_dim // ROWS, model.kv_heads * model.head_dim // ROWS
    qkv = model.qkv // ROWS
    few = rows <= CHUNK // 8
    bf16, bfp8 = "bfloat16", "bfloat8_b"

    def matmul(k: int, n: int, weights: str) -> Matmul:
        return Matmul(
            rows,
            k,
            n,
            weights=weights,
            fidelity="LoFi" if weights == "bfloat4_b" else "HiFi2",
            program="1d" if few else "2d",
        )

    def each(name: str, width: int, *formats: str) -> Kernel:
        """An operation on every tile, reading and writing tensors of these formats in DRAM."""
        return Kernel(
            name, tiles(rows) * tiles(width), rows * width * sum(FORMAT_BYTES[name] for name in formats)
        )

    def by_rows(name: str, width: int) -> Kernel:
        return Kernel(name, tiles(rows) * tiles(width), cores=min(tiles(rows), ROWS * ROWS))

    def over(size: int, kind: str, width: int) -> Collective:
        packet = min(4096, tiles(width) * 2048)
        return Collective(
            kind, size, rows * width * 2.0, packet=packet, implementation="prefill", rows=tiles(rows)
        )

    scores = tiles(rows) ** 2 * tiles(model.head_dim) * model.heads / ROWS
    quarter, eighth = ffn // COLUMNS, hidden // ROWS
    works: dict[str, Work] = {
        "LayerNormPreAllGather": by_rows("norm_before_gather", hidden),
        "LayerNormPostAllGather": by_rows("norm_after_gather", hidden),
        "AllGatherAsync_0": over(COLUMNS, "all_gather", 32),
        "AllGatherAsync_1": over(COLUMNS, "all_gather", 32),
        "AllGatherAsync_QKV": over(COLUMNS, "all_gather", qkv // COLUMNS),
        "AllGatherAsync_attn_out": over(ROWS, "all_gather", eighth),
        "AllGatherAsync_ffn_2": over(COLUMNS, "all_gather", quarter),
        "all_gather_ffn_2": over(ROWS, "all_gather", eighth),
        "ReduceScatterAsync_QKV": over(COLUMNS, "reduce_scatter", qkv),
        "ReduceScatterAsync_attn_out": over(ROWS, "reduce_scatter", hidden),
        "ReduceScatterAsync_ffn_1": over(COLUMNS, "reduce_scatter", ffn),
        "ReduceScatterAsync_ffn_3": over(COLUMNS, "reduce_scatter", ffn),
        "reduce_scatter_ffn_1": over(COLUMNS, "reduce_scatter", ffn),
        "reduce_scatter_ffn_2": over(ROWS, "reduce_scatter", hidden),
        "QKV_MM": matmul(hidden, qkv, model.weights),
        "matmul_attn_out": matmul(heads, hidden, model.weights),
        "matmul_ffn_1": matmul(hidden, ffn, model.ffn_weights),
        "matmul_ffn_3": matmul(hidden, ffn, model.ffn_weights),
        "matmul_ffn_2": matmul(ffn, hidden, model.weights),
        "CreateQKVHeads": each("create_heads", qkv, bfp8, bfp8),
        "concat_heads": each("concat_heads", heads, bfp8, bfp8),
        "rotary_emb_Q": each("rotary", heads, bf16, bf16),
        "rotary_emb_K": each("rotary", kv, bf16, bf16),
        "update_cache_K": each("update_cache", kv, bfp8, bfp8),
        "update_cache_V": each("update_cache", kv, bfp8, bfp8),
        "typecast_0": each("typecast", qkv, bf16, bfp8),
        "typecast_1": each("typecast", kv, bf16, bfp8),
        "typecast_2": each("typecast", kv, bf16, bfp8),
        "typecast_3": each("typecast", kv, bf16, bfp8),
        "typecast_4": each("typecast", heads, bf16, bfp8),
        "sdpa": Kernel("sdpa", scores),
        "sum_attn_out": each("binary", hidden, bfp8, bfp8, bfp8),
        "binary_sum_mlp": each("binary", hidden, bfp8, bfp8, bfp8),
        "binary_mul_ffn_1_3": each("binary", quarter, bf16, bf16, bf16),
    }
    return {name: (work,) for name, work in works.items()}


def prefill_layer(model: Transformer, tokens: int) -> list[Works]:
    """What one layer does to a chunk of a prompt, each operation once."""
    named = prefill(model, tokens)
    return [works for name, works in named.items() if name != "reduce_scatter_ffn_1"]  # as ..Async_ffn_1


def around(model: Transformer, ring: bool) -> dict[str, Works]:
    """The tail by published labels, and what some versions of the model do around it."""
    logits = whole_tiles(-(-model.vocab // ROWS))
    return {
        **tail(model, ring),
        "InterleavedToSharded": (Kernel("to_sharded", 1, cores=1),),
        "Untilize": (Kernel("to_interleaved_logits", tiles(logits)),),
        "Embeddings": (Kernel("embedding_decode", tiles(model.hidden // COLUMNS)),),
    }


PARTS: dict[str, Callable[[Transformer, bool], dict[str, Works]]] = {"decoder": decoder, "model_tail": around}
