"""A Llama served by several devices: a prompt in one pass, then token after token from a paged cache, beside `transformers` on the same weights.

Heads and the layers between them are cut over the devices (tensor parallelism), and so are the activations from sum to sum: norms take their statistics over
all devices. It prints how the logits correlate with those of `transformers`, and their hash, which no split over ranks changes. Needs PyTorch and transformers.

    python -m tt_run.emulate examples/llama_serving.py
    tt-run --emulate --system t3000 --split 1x2 python examples/llama_serving.py
    python -m tt_run.emulate examples/llama_serving.py --devices 2
"""

from __future__ import annotations

import argparse
import hashlib
from typing import Any

import torch
import transformers
import ttnn

HIDDEN, INNER, LAYERS, HEADS, KV_HEADS, WORDS = 512, 1024, 2, 16, 8, 512
WIDTH = HIDDEN // HEADS
PROMPT, TOKENS = 64, 8
BLOCK, BLOCKS = 32, 4  # tokens in a block of the cache, and how many of these a sequence has


Turns = tuple[ttnn.Tensor, ttnn.Tensor]
"""Cosines and sines of the rotary embedding."""


class Devices:
    """The mesh, and the ways in which a tensor lies on it."""

    def __init__(self, count: int) -> None:
        ttnn.set_fabric_config(ttnn.FabricConfig.FABRIC_1D)
        self.mesh = ttnn.open_mesh_device(ttnn.MeshShape(1, count))
        self.count = count

    def same(self, values: torch.Tensor, layout: ttnn.Layout = ttnn.TILE_LAYOUT) -> ttnn.Tensor:
        """The same values on each device."""
        return self._placed(values, layout, ttnn.ReplicateTensorToMesh(self.mesh))

    def cut(self, values: torch.Tensor, dim: int) -> ttnn.Tensor:
        """A part along a dimension on each."""
        return self._placed(values, ttnn.TILE_LAYOUT, ttnn.ShardTensorToMesh(self.mesh, dim=dim))

    def numbers(self, values: torch.Tensor, dtype: ttnn.DataType = ttnn.int32) -> ttnn.Tensor:
        """Positions, words or blocks: the same integers on each."""
        mapper = ttnn.ReplicateTensorToMesh(self.mesh)
        return ttnn.from_torch(values.int(), dtype=dtype, device=self.mesh, mesh_mapper=mapper)

    def _placed(self, values: torch.Tensor, layout: ttnn.Layout, mapper: Any) -> ttnn.Tensor:
        return ttnn.from_torch(
            values.detach(), dtype=ttnn.bfloat16, layout=layout, device=self.mesh, mesh_mapper=mapper
        )

    def gathered(self, part: ttnn.Tensor) -> ttnn.Tensor:
        """The whole last dimension on each device."""
        return ttnn.all_gather(part, 3) if self.count > 1 else part

    def summed(self, partial: ttnn.Tensor) -> ttnn.Tensor:
        """The sum over the devices, of which each keeps its part of the last dimension."""
        return ttnn.reduce_scatter(partial, 3) if self.count > 1 else partial


class Norm:
    """An RMS norm of activations that are cut over the devices; whole rows come out."""

    def __init__(self, devices: Devices, weight: torch.Tensor, epsilon: float) -> None:
        self.devices, self.epsilon = devices, epsilon
        self.weight = devices.cut(weight[None, None, None], 3)

    def __call__(self, x: ttnn.Tensor) -> ttnn.Tensor:
        statistics = self.devices.gathered(ttnn.rms_norm_pre_all_gather(x, dtype=ttnn.bfloat16))
        y = ttnn.rms_norm_post_all_gather(x, statistics, epsilon=self.epsilon, weight=self.weight)
        return self.devices.gathered(y)


class Layer:
    """Attention with its cache, and what stands between two of them."""

    def __init__(self, devices: Devices, layer: Any, epsilon: float) -> None:
        self.devices = devices
        self.heads, self.kv_heads = HEADS // devices.count, KV_HEADS // devices.count
        attention, inner = layer.self_attn, layer.mlp
        self.norms = [
            Norm(devices, each.weight, epsilon)
            for each in (layer.input_layernorm, layer.post_attention_layernorm)
        ]
        parts = [
            part.weight.T.chunk(devices.count, -1)
            for part in (attention.q_proj, attention.k_proj, attention.v_proj)
        ]
        # Each device has the queries, keys and values of its own heads beside each other.
        self.qkv = devices.cut(torch.cat([torch.cat(own, -1) for own in zip(*parts, strict=True)], -1), 1)
        self.out = devices.cut(attention.o_proj.weight.T, 0)
        self.gate, self.up = (devices.cut(each.weight.T, 1) for each in (inner.gate_proj, inner.up_proj))
        self.down = devices.cut(inner.down_proj.weight.T, 0)
        empty = torch.zeros(BLOCKS, self.kv_heads, BLOCK, WIDTH)
        self.cache = [devices.same(empty), devices.same(empty)]

    def prefill(self, x: ttnn.Tensor, turns: Turns, table: ttnn.Tensor) -> ttnn.Tensor:
        """A whole prompt, whose keys and values go into the cache."""
        qkv = ttnn.linear(self.norms[0](x), self.qkv)
        queries, *kept = ttnn.experimental.nlp_create_qkv_heads(
            qkv, num_heads=self.heads, num_kv_heads=self.kv_heads, transpose_k_heads=False
        )
        cos, sin = turns
        queries, kept[0] = (ttnn.experimental.rotary_embedding(each, cos, sin) for each in (queries, kept[0]))
        for cache, new in zip(self.cache, kept, strict=True):
            ttnn.experimental.paged_fill_cache(cache, new, table, batch_idx=0)
        seen = ttnn.transformer.scaled_dot_product_attention(queries, *kept, is_causal=True)
        return self._rest(x, ttnn.experimental.nlp_concat_heads(seen))

    def decode(self, x: ttnn.Tensor, turns: Turns, table: ttnn.Tensor, position: int) -> ttnn.Tensor:
        """One token, which sees what the cache has of those before it."""
        at = self.devices.numbers(torch.tensor([position]))
        queries, *new = ttnn.experimental.nlp_create_qkv_heads_decode(
            ttnn.linear(self.norms[0](x), self.qkv),
            num_heads=self.heads,
            num_kv_heads=self.kv_heads,
            memory_config=ttnn.L1_HEIGHT_SHARDED_MEMORY_CONFIG,
        )
        queries = self._turned(queries, self.heads, turns, position)
        new[0] = self._turned(new[0], self.kv_heads, turns, position)
        for cache, each in zip(self.cache, new, strict=True):
            ttnn.experimental.paged_update_cache(
                cache, _on_a_core(each), update_idxs_tensor=at, page_table=table
            )
        keys, values = self.cache
        seen = ttnn.transformer.paged_scaled_dot_product_attention_decode(
            queries, keys, values, page_table_tensor=table, cur_pos_tensor=at
        )
        rows = ttnn.experimental.nlp_concat_heads_decode(_on_a_core(seen), num_heads=self.heads)
        own = ttnn.slice(_in_dram(rows), [0, 0, 0, 0], [1, 1, 1, self.heads * WIDTH])
        return self._rest(x, own)

    def _turned(self, heads: ttnn.Tensor, count: int, turns: Turns, position: int) -> ttnn.Tensor:
        cos, sin = turns
        turned = ttnn.experimental.rotary_embedding(_in_dram(heads), cos, sin, position)
        return ttnn.slice(turned, [0, 0, 0, 0], [1, 1, count, WIDTH])

    def _rest(self, x: ttnn.Tensor, seen: ttnn.Tensor) -> ttnn.Tensor:
        x = ttnn.add(x, self.devices.summed(ttnn.linear(seen, self.out)))
        y = self.norms[1](x)
        y = ttnn.multiply(
            ttnn.linear(y, self.gate),
            ttnn.linear(y, self.up),
            input_tensor_a_activations=[ttnn.UnaryOpType.SILU],
        )
        return ttnn.add(x, self.devices.summed(ttnn.linear(y, self.down)))


def _in_dram(tensor: ttnn.Tensor) -> ttnn.Tensor:
    return ttnn.sharded_to_interleaved(tensor, ttnn.DRAM_MEMORY_CONFIG) if tensor.is_sharded() else tensor


def _on_a_core(heads: ttnn.Tensor) -> ttnn.Tensor:
    core = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(0, 0))])
    piece = ttnn.ShardSpec(core, [ttnn.TILE_SIZE, WIDTH], ttnn.ShardOrientation.ROW_MAJOR)
    place = ttnn.MemoryConfig(ttnn.TensorMemoryLayout.HEIGHT_SHARDED, ttnn.BufferType.L1, piece)
    return ttnn.to_memory_config(heads, place)


class Llama:
    """The whole model on the devices."""

    def __init__(self, devices: Devices, model: transformers.LlamaForCausalLM) -> None:
        inside, epsilon = model.model, model.config.rms_norm_eps
        self.devices = devices
        self.layers = [Layer(devices, layer, epsilon) for layer in inside.layers]
        self.norm = Norm(devices, inside.norm.weight, epsilon)
        self.head = devices.cut(model.lm_head.weight.T, 1)
        self.words = inside.embed_tokens.weight
        angles = torch.outer(torch.arange(BLOCK * BLOCKS).float(), inside.rotary_emb.inv_freq).repeat(1, 2)
        self.turns = devices.same(angles.cos()[None, None]), devices.same(angles.sin()[None, None])
        self.table = devices.numbers(torch.arange(BLOCKS)[None])

    def prefill(self, words: torch.Tensor) -> torch.Tensor:
        """The logits after each word of a prompt."""
        x = self._embedded(words)
        for layer in self.layers:
            x = layer.prefill(x, self.turns, self.table)
        return self._logits(x)

    def decode(self, words: torch.Tensor, position: int) -> torch.Tensor:
        """The logits after one more."""
        x = self._embedded(words)
        for layer in self.layers:
            x = layer.decode(x, self.turns, self.table, position)
        return self._logits(x)

    def _embedded(self, words: torch.Tensor) -> ttnn.Tensor:
        return self.devices.cut(torch.nn.functional.embedding(words, self.words)[None], 3)

    def _logits(self, x: ttnn.Tensor) -> torch.Tensor:
        parts = ttnn.linear(self.norm(x), self.head)
        composer = ttnn.ConcatMeshToTensor(self.devices.mesh, dim=3)
        return ttnn.to_torch(parts, mesh_composer=composer).float()[0, 0]


def main() -> None:
    read = argparse.ArgumentParser(
        description=f"{__doc__}", formatter_class=argparse.RawDescriptionHelpFormatter
    )
    read.add_argument("--devices", type=int, choices=(1, 2, 4, 8), default=8)
    devices = Devices(read.parse_args().devices)
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        hidden_size=HIDDEN, intermediate_size=INNER, num_hidden_layers=LAYERS, vocab_size=WORDS,
        num_attention_heads=HEADS, num_key_value_heads=KV_HEADS, max_position_embeddings=BLOCK * BLOCKS,
    )  # fmt: skip
    reference = transformers.LlamaForCausalLM(config).eval()
    words = torch.randint(0, WORDS, (1, PROMPT + TOKENS))
    with torch.no_grad():
        expected = reference(words).logits[0]
        model = Llama(devices, reference)
        found = [model.prefill(words[:, :PROMPT])]
        found += [model.decode(words[:, at : at + 1], at)[:1] for at in range(PROMPT, PROMPT + TOKENS)]
    if not ttnn.distributed_context_is_initialized() or int(ttnn.distributed_context_get_rank()) == 0:
        logits = torch.cat(found)
        for name, rows in (("prompt", slice(0, PROMPT)), ("tokens", slice(PROMPT, None))):
            both = torch.stack([logits[rows].flatten(), expected[rows].flatten()])
            print(f"{name}: logits correlate with transformers' by {torch.corrcoef(both)[0, 1]:.5f}")
        print(f"hash of the logits: {hashlib.sha256(logits.numpy().tobytes()).hexdigest()[:16]}")
    ttnn.close_mesh_device(devices.mesh)


if __name__ == "__main__":
    main()
