"""What fused collectives refuse and at which bound they begin to: as it was when a person last read it. Their values are compared in forms_program.py.

`TT_RUN_WRITE_EXPECTED=1 pytest tests/runtime/ccl/test_fused_words.py` writes it again; the difference is for reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.runtime.ccl.test_agreed import Forms
from tests.words import same_as_read
from tt_run.runtime.ccl.semaphores import create_global_semaphore
from tt_run.runtime.ccl.whole_calls import memory_text
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import DataType, Layout, Topology
from tt_run.runtime.mesh import MeshShape, open_mesh_device
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.distribution.mappers import ReplicateTensorToMesh
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, L1_MEMORY_CONFIG
from tt_run.runtime.tensor.tensor import Tensor

CALLS = """\
prefill.compressor_state_exchange(t(1, 1, 64, 32), t(1, 1, 64, 32), t(1, 1, 64, 32), t(1, 1, 64, 32))
prefill.compressor_state_exchange(t(1, 1, 64, 32), t(1, 1, 64, 64), t(1, 1, 64, 32), t(1, 1, 64, 32))
prefill.compressor_state_exchange(t(1, 1, 64, 32), t(1, 1, 64, 32), t(2, 1, 64, 32), t(1, 1, 64, 32))
prefill.compressor_state_exchange(t(1, 1, 64, 32), t(1, 1, 64, 32), t(1, 1, 64, 32), t(1, 1, 64, 32, dtype=F32))
prefill.compressor_state_exchange(t(1, 1, 32, 32), t(1, 1, 32, 32), t(1, 1, 32, 32), t(1, 1, 32, 32))
prefill.csa_compressor(t(1, 1, 16, 64), t(1, 1, 16, 64), t(1, 1, 4, 64), t(1, 1, 64, 32), t(1, 1, 64, 32), seq_len_actual=0)
prefill.csa_compressor(t(1, 1, 16, 64), t(1, 1, 16, 64), t(1, 1, 4, 64), t(1, 1, 64, 32), t(1, 1, 64, 32), seq_len_actual=16, first_token_position=4)
prefill.csa_compressor(t(1, 1, 16, 64), t(1, 1, 20, 64), t(1, 1, 4, 64), t(1, 1, 64, 32), t(1, 1, 64, 32), seq_len_actual=16)
prefill.csa_compressor(t(1, 1, 16, 64), t(1, 1, 16, 64), t(1, 1, 8, 64), t(1, 1, 64, 32), t(1, 1, 64, 32), seq_len_actual=16)
prefill.csa_compressor(t(1, 1, 16, 64), t(1, 1, 16, 64), t(1, 1, 4, 32), t(1, 1, 64, 32), t(1, 1, 64, 32), seq_len_actual=16)
prefill.csa_compressor(t(1, 1, 18, 64), t(1, 1, 18, 64), t(1, 1, 4, 64), t(1, 1, 64, 32), t(1, 1, 64, 32), seq_len_actual=16)
prefill.csa_compressor(t(1, 1, 16, 32), t(1, 1, 16, 32), t(1, 1, 4, 32), t(1, 1, 64, 16), t(1, 1, 64, 16), seq_len_actual=16)
prefill.csa_compressor(t(1, 1, 16, 64), t(1, 1, 16, 64), t(1, 1, 4, 64), t(1, 1, 32, 32), t(1, 1, 64, 32), seq_len_actual=16)
prefill.csa_compressor(t(1, 1, 16, 64), t(1, 1, 16, 64), t(1, 1, 4, 64), t(1, 1, 64, 32), t(1, 1, 64, 64), seq_len_actual=16)
prefill.csa_compressor(t(1, 1, 16, 64), t(1, 1, 16, 64), t(1, 1, 4, 64), t(1, 1, 64, 32), t(1, 1, 64, 32, dtype=F32), seq_len_actual=16)
prefill.csa_compressor(t(1, 1, 16, 64), t(1, 1, 16, 64), t(1, 1, 4, 64), t(1, 1, 64, 32), t(1, 1, 64, 32), seq_len_actual=16, first_token_position=6)
prefill.csa_compressor(t(1, 1, 16, 64), t(1, 1, 16, 64), t(1, 1, 4, 64), t(1, 1, 64, 32), t(1, 1, 64, 32), seq_len_actual=-1)
kda.select_final_carry(t(2, 32, 32, dtype=F32), t(2, 32, 32, dtype=F32), actual_start=n(0), local_rows=32)
kda.select_final_carry(t(2, 3, 32, 32, dtype=F32), t(2, 32, 32, dtype=F32), actual_start=n(0), local_rows=32, sequence_parallel_axis=1)
kda.select_final_carry(t(2, 32, 32, dtype=F32), t(2, 32, 32, dtype=F32), actual_start=n(0), local_rows=32, sequence_parallel_axis=2)
kda.select_final_carry(t(2, 32, 32, dtype=F32), t(2, 32, 32, dtype=F32), actual_start=n(0), local_rows=32, sequence_parallel_axis=-1)
kda.select_final_carry(t(3, 32, 32, dtype=F32), t(2, 32, 32, dtype=F32), actual_start=n(0), local_rows=32)
kda.select_final_carry(t(2, 32, 64, dtype=F32), t(2, 32, 32, dtype=F32), actual_start=n(0), local_rows=32)
kda.select_final_carry(t(2, 1, 1, 32, 32, dtype=F32), t(2, 32, 32, dtype=F32), actual_start=n(0), local_rows=32)
E.dit_fused_distributed_layernorm(t(1, 1, 32, 64), 1, mesh, [])
E.dit_fused_distributed_layernorm(t(1, 1, 32, 64), 1, part, [])
E.dit_fused_distributed_layernorm(t(1, 1, 32, 64), 2, mesh, [])
E.dit_fused_distributed_layernorm(t(1, 1, 32, 64), -1, mesh, [])
E.dit_fused_distributed_layernorm(t(1, 1, 32, 64), None, mesh, [])
E.dit_fused_distributed_layernorm(t(1, 1, 32, 64), 0, mesh, [], weight=t(1, 1, 1, 32))
E.dit_fused_distributed_layernorm(t(1, 1, 32, 64), 0, mesh, [], weight=t(1, 1, 1, 1))
E.dit_fused_distributed_layernorm(t(1, 1, 32, 64), 0, mesh, [], weight=t(1, 1, 1, 64), bias=t(1, 1, 32, 64))
E.dit_fused_distributed_layernorm(t(1, 1, 32, 64), 0, mesh, [], weight=t(1, 1, 1, 32), num_heads_per_device=2)
E.dit_fused_distributed_rmsnorm(t(1, 1, 32, 64), 0, mesh, [], weight=t(1, 1, 1, 32), num_heads_per_device=2)
E.dit_fused_distributed_rmsnorm(t(1, 1, 32, 64), 0, mesh, [], weight=t(1, 1, 1, 32), num_heads_per_device=2, per_head_norm=True)
E.dit_fused_distributed_rmsnorm(t(1, 1, 32, 64), 0, mesh, [], weight=t(1, 1, 1, 64), num_heads_per_device=2, per_head_norm=True)
E.dit_fused_distributed_rmsnorm(t(1, 1, 32, 64), 0, mesh, [], weight=t(1, 1, 1, 16), num_heads_per_device=2, per_head_norm=True)
E.dit_fused_distributed_rmsnorm(t(1, 1, 32, 64), 0, mesh, [], bias=t(1, 1, 1, 64), num_heads_per_device=0, per_head_norm=True)
E.dit_fused_distributed_layernorm(t(1, 1, 32, 64), 0, mesh, [], weight=t(1, 1, 1, 48))
E.dit_fused_distributed_layernorm(t(1, 1, 32, 64), 0, mesh, [], bias=t(1, 1, 2, 64))
E.dit_fused_distributed_layernorm(t(1, 2, 32, 64), 0, mesh, [], num_heads_per_device=2)
E.dit_fused_distributed_layernorm(t(1, 1, 32, 64), 0, mesh, [], num_heads_per_device=3)
E.dit_fused_distributed_layernorm(t(2, 1, 32, 64), 0, mesh, [], num_heads_per_device=2)
E.dit_fused_distributed_layernorm(t(1, 32, 64), 0, mesh, [], num_heads_per_device=2)
E.dit_fused_distributed_layernorm(t(1, 1, 32, 64), 0, mesh, [], rope_cos=t(1, 1, 32, 64))
E.dit_fused_distributed_layernorm(t(1, 1, 32, 64), 0, mesh, [], rope_cos=t(1, 1, 32, 64), rope_sin=t(1, 1, 32, 64))
E.dit_fused_distributed_layernorm_create_stats_buffer(t(1, 1, 32, 64), 1, mesh)
E.dit_fused_distributed_layernorm_create_stats_buffer(t(1, 1, 32, 64), None, mesh)
E.dit_fused_distributed_rmsnorm_create_stats_buffer(t(1, 1, 32, 64), 1, mesh)
E.dit_fused_distributed_rmsnorm_create_stats_buffer(t(1, 1, 32, 64), 0, mesh)
E.dit_fused_distributed_rmsnorm_create_stats_buffer(t(1, 1, 32, 64), 1, mesh, per_head_norm=True)
E.dit_fused_distributed_rmsnorm_create_stats_buffer(t(1, 1, 32, 64, on=part), 0, part)
E.dit_fused_distributed_groupnorm(t(1, 1, 32, 64), num_groups=1, cluster_axis=1, mesh_device=mesh, multi_device_global_semaphore=[])
E.dit_fused_distributed_groupnorm(t(1, 1, 32, 64), num_groups=0, cluster_axis=1, mesh_device=mesh, multi_device_global_semaphore=[])
E.dit_fused_distributed_groupnorm(t(1, 1, 32, 64), num_groups=3, cluster_axis=1, mesh_device=mesh, multi_device_global_semaphore=[])
E.dit_fused_distributed_groupnorm(t(1, 1, 32, 64), num_groups=48, cluster_axis=1, mesh_device=mesh, multi_device_global_semaphore=[])
E.dit_fused_distributed_groupnorm(t(1, 1, 32, 64), num_groups=4, cluster_axis=1, mesh_device=mesh, multi_device_global_semaphore=[], weight=t(1, 1, 1, 64))
E.dit_fused_distributed_groupnorm(t(1, 1, 32, 64), num_groups=4, cluster_axis=1, mesh_device=mesh, multi_device_global_semaphore=[], bias=t(1, 1, 1, 64))
E.dit_fused_distributed_groupnorm_create_stats_buffer(t(1, 1, 32, 64), 4, 1, mesh)
E.dit_fused_distributed_groupnorm_create_stats_buffer(t(1, 1, 32, 64), 4, 0, mesh)
E.dit_fused_distributed_groupnorm_create_stats_buffer(t(1, 1, 32, 64, on=part), 4, 0, part)
residual(t(2, 1, 32, 32), t(1, 1, 32, 32), t(2, 1, 32, 1), t(2, 1, 32, 1), t(2, 1, 1, 32), site=1)
residual(t(2, 1, 32, 32), t(1, 1, 32, 32), t(2, 1, 32, 1), t(2, 1, 32, 1), t(2, 1, 1, 32), pending=t(1, 1, 32, 32), eps=0.5)
residual(t(2, 1, 32, 32), t(1, 1, 32, 32), t(2, 1, 32, 1), t(2, 1, 32, 1), t(2, 1, 1, 32), site=2)
residual(t(2, 1, 32, 32), t(1, 1, 32, 32), t(2, 1, 32, 1), t(2, 1, 32, 1), t(2, 1, 1, 32), site=-1)
residual(t(1, 1, 32, 32), t(1, 1, 32, 32), t(2, 1, 32, 1), t(1, 1, 32, 1), t(1, 1, 1, 32), site=1)
residual(t(1, 1, 32, 32), t(1, 1, 32, 32), t(2, 1, 32, 1), t(1, 1, 32, 1), t(1, 1, 1, 32), site=2)
residual(t(2, 1, 32, 32), t(1, 1, 32, 32), t(2, 1, 32, 1), t(2, 1, 32, 1), t(2, 1, 1, 64))
residual(t(2, 1, 32, 64), t(1, 1, 32, 32), t(2, 1, 32, 1), t(2, 1, 32, 1), t(2, 1, 1, 32))
residual(t(2, 1, 16, 32), t(1, 1, 32, 32), t(2, 1, 32, 1), t(2, 1, 32, 1), t(2, 1, 1, 32))
residual(t(2, 1, 32, 32), t(1, 1, 32, 32), t(2, 1, 16, 1), t(2, 1, 32, 1), t(2, 1, 1, 32))
residual(t(2, 1, 32, 32), t(1, 1, 32, 32), t(2, 1, 32, 1), t(2, 1, 32, 2), t(2, 1, 1, 32))
residual(t(2, 1, 32, 32, on=part), t(1, 1, 32, 32, on=part), t(2, 1, 32, 1, on=part), t(2, 1, 32, 1, on=part), t(2, 1, 1, 32, on=part), cluster_axis=0)
indexed(chunk_start_idx=0, kv_len=64)
indexed(k=t(1, 1, 128, 32))
indexed(k=t(1, 1, 256, 32, dtype=F32))
indexed(chunk_start_idx=0, chunk_start_idx_tensor=n(0))
indexed(kv_len=64, chunk_start_idx_tensor=n(0))
indexed(chunk_start_idx_tensor=n(0))
indexed(valid_end_tensor=n(64))
indexed(chunk_start_idx_tensor=n(0), valid_end_tensor=n(20))
indexed(chunk_start_idx_tensor=n(32), valid_end_tensor=n(170), key_compression_ratio=4)
indexed(cache_batch_idx=0, cache_batch_idx_tensor=n(0))
indexed(cache_batch_idx=0)
indexed(cache_batch_idx=1)
indexed(cache_batch_idx=-1)
indexed(cache_batch_idx_tensor=n(1), index_cache_num_layers=2, index_cache_layer_idx=1)
indexed(cluster_axis=None, k=t(1, 1, 512, 32), q=t(1, 2, 32, 32), weights=t(1, 1, 32, 2))
indexed(cluster_axis=None, k=t(1, 1, 512, 32), block_cyclic_chunk_local=32)
fused_norm(weight=t(1, 1, 1, 64))
fused_norm()
fused_norm(weight=t(1, 1, 1, 64), persistent_output_tensor=t(1, 1, 32, 64))
fused_norm(weight=t(1, 1, 1, 64), residual_input_tensor=t(1, 1, 32, 64))
minimal()
minimal(chunks=0)
minimal(chunks=2)
minimal(chunks=2, chunk_sizes=[32, 96])
minimal(chunks=2, chunk_sizes=[0, 128])
minimal(chunks=3, chunk_sizes=[32, 0, 96])
minimal(chunks=2, chunk_sizes=[32, 64])
minimal(addcmul_input_tensor1=t(32, 128), addcmul_input_tensor2=t(32, 128))
minimal(addcmul_input_tensor1=t(32, 128), addcmul_input_tensor2=t(32, 128), scalar=2.0)
minimal(addcmul_input_tensor1=t(32, 128), scalar=2.0)
minimal(fuse_swiglu=True)
minimal(fuse_swiglu=True, weight_tensor=t(128, 96))
minimal(fuse_swiglu=True, scalar=1.0)
minimal(num_links=4)
minimal(num_links=2, num_workers_per_link=3)
minimal(num_workers_per_link=0)
minimal(force_transpose=False, num_links=7)
minimal(force_transpose=False, num_workers_per_link=7)
minimal(config=MinimalMatmulConfig(K_block_size=1))
minimal(config=MinimalMatmulConfig(K_block_size=2))
strided(fuse_swiglu=True, chunks=2)
strided(fuse_swiglu=True, fused_activation=UnaryOpType.RELU)
strided(fuse_swiglu=True, fused_ternary_input_a=t(32, 128), fused_ternary_input_b=t(32, 128), fused_ternary_scalar=1.0)
strided(fused_ternary_input_a=t(32, 128), fused_ternary_scalar=1.0)
strided(fused_ternary_input_a=t(32, 128), fused_ternary_input_b=t(32, 128))
strided(chunks=3)
strided(chunks=0)
scattered()
scattered(addcmul_input_tensor1=t(1, 1, 32, 32))
scattered(addcmul_input_tensor1=t(1, 1, 32, 32), addcmul_input_tensor2=t(1, 1, 32, 32))
scattered(addcmul_input_tensor1=t(1, 1, 32, 32), addcmul_input_tensor2=t(1, 1, 32, 32), fused_ternary_scalar=2.0)
scattered(addcmul_input_tensor1=t(1, 1, 32, 32), addcmul_input_tensor2=t(1, 1, 1, 32), fused_ternary_scalar=2.0)
scattered(addcmul_input_tensor1=t(1, 1, 1, 32), addcmul_input_tensor2=t(1, 1, 1, 32), fused_ternary_scalar=2.0)
scattered(addcmul_input_tensor1=t(1, 1, 32, 32), addcmul_input_tensor2=t(1, 1, 2, 32), fused_ternary_scalar=2.0)
scattered(addcmul_input_tensor1=t(1, 1, 32, 64), addcmul_input_tensor2=t(1, 1, 32, 32), fused_ternary_scalar=2.0)
E.llama_rs_matmul(t(1, 1, 32, 64), t(1, 1, 64, 128), t(1, 1, 32, 128), 3, [], 1, mesh)
E.llama_rs_matmul(t(1, 1, 32, 64), t(1, 1, 64, 128), t(1, 1, 32, 128), 3, [], 1, mesh, second_weight_tensor=t(1, 1, 64, 64))
E.llama_rs_matmul(t(1, 1, 32, 64), t(1, 1, 64, 128), t(1, 1, 32, 128), 3, [], 1, mesh, rs_tensor=t(1, 1, 32, 256))
E.neighbor_pad_async(r(4, 8), [0], [1], [1], "zeros", [0], [], [], t_front_pad=1)
E.neighbor_pad_async(r(4, 8, 8), [1], [1], [1], "zeros", [0], [], [], t_front_pad=1)
E.neighbor_pad_async(r(2, 4, 8, 8), [2], [1], [1], "zeros", [0], [], [], t_front_pad=1)
E.neighbor_pad_async(r(4, 8, 8), [1], [1], [1], "mirror", [0], [], [])
E.neighbor_pad_async(r(4, 8, 8), [1], [8], [0], "replicate", [0], [], [])
E.neighbor_pad_async(r(4, 8, 8), [1], [9], [0], "replicate", [0], [], [])
E.neighbor_pad_async(r(4, 8, 8), [0, 1, 0], [1, 1, 1], [1, 1, 1], "zeros", [0, 1, 0], [], [])
E.neighbor_pad_async(r(4, 8, 8), [0, 1], [1], [1, 1], "zeros", [0, 1], [], [])
E.neighbor_pad_async(r(4, 8, 8), [], [], [], "zeros", [], [], [])
halo()
halo(np_pad2_left=2)
halo(np_pad2_right=0)
halo(np_pad_dim2=0)
halo(np_pad_dim2=1)
halo(border_only=True, padded_output=r(1, 1, 6, 6, 4))
E.halo_scatter(r(20, 4), r(1, 1, 4, 4, 4), 1, 1)
E.halo_scatter(r(19, 4), r(1, 1, 4, 4, 4), 1, 1)
E.halo_scatter(r(12, 4), r(1, 1, 4, 4, 4), 1, 1, border_only=True)
E.halo_scatter(r(11, 4), r(1, 1, 4, 4, 4), 1, 1, border_only=True)
E.slice_reshard_async(r(8, 4, 4, 4), 0, 0, 4, 1, [], [])
E.slice_reshard_async(r(8, 4, 4, 4), 0, 31, 4, 1, [], [])
E.slice_reshard_async(r(8, 4, 4, 4), 0, 32, 4, 1, [], [])
E.slice_reshard_async(r(8, 4, 4, 4), 0, 0, 6, 1, [], [])
E.slice_reshard_async(r(8, 4, 4, 4), 0, 0, 0, 1, [], [])
E.ring_attention_all_gather_async([r(4, 8)], [], 0, multi_device_global_semaphore=[], cluster_axis=1, mesh_device=mesh, topology=None)
E.all_gather_async_reversed(t(32, 64), None, None, [])
E.strided_reduce_scatter_async(t(1, 1, 32, 128), None, None, [], mm_block_ht=1, mm_block_wt=1)
dispatched()
dispatched(metadata_len=4)
dispatched(fp8_scaled_input=True)
dispatched(fp8_output=True)
dispatched(dispatch_group_size=2)
dispatched(indices_tensor=w(1, 16, 2))
dispatched(max_dispatch_buffer_token_size=1)
dispatched(max_dispatch_buffer_token_size=0)
dispatched(experts_per_chip=0)
dispatched(num_experts_per_tok=3)
around()
around(num_routed_experts=24)
around(metadata_len=4)
around(seq_len_per_chip=16)
around(cluster_axis=0)
around(topology=Topology.Linear)
around(num_links=0)
combined()
combined(dispatched_metadata=notes(32, 3))
combined(dispatched_metadata=notes(64, 4))
combined(dispatched_metadata=notes(64, 2))
combined(dispatch_group_size=2)
combined(seq_len_per_chip=0)
combined(num_experts_per_tok=0)
combined(use_fp8_combine=True)
room(emb_dim=24)
room(emb_dim=32)
room(combine_axis=0)
room(combine_axis=2)
room(combine_axis=-1)
room(experts_per_chip=0)
room(combine_num_links=0)
room(seq_len_per_chip=1, num_experts_per_tok=1, combine_num_links=1)
prefill.hybrid_routed_expert_moe_forwarding_buffer(part, emb_dim=64, experts_per_chip=1, num_experts_per_tok=1, seq_len_per_chip=16, combine_axis=1)
metadata(cluster_axis=None)
metadata(expert_scores_tensor=r(1, 8, 1, 4))
metadata(expert_indices_tensor=w(1, 4, 1, 2), expert_scores_tensor=r(1, 4, 1, 2))
metadata(input_tensor=r(1, 8, 2, 32))
metadata(input_tensor=r(1, 8, 32))
metadata()
kda.select_final_carry(t(2, 32, 32, dtype=F32), t(2, 32, 32, dtype=F32), actual_start=n(0), local_rows=32, memory_config=L1)
E.dit_fused_distributed_layernorm(t(2, 1, 32, 64), 0, mesh, [])
E.dit_fused_distributed_layernorm(t(1, 1, 32, 64), 0, mesh, [], memory_config=L1)
E.dit_fused_distributed_layernorm(t(1, 1, 32, 64), 0, mesh, [], dtype=F32)
E.dit_fused_distributed_layernorm(t(1, 1, 32, 64), 0, part, [])
E.dit_fused_distributed_layernorm(t(1, 1, 32, 64), 0, mesh, [], weight=t(1, 1, 1, 64), memory_config=L1)
E.dit_fused_distributed_rmsnorm(t(1, 1, 32, 64), 0, mesh, [], num_heads_per_device=1, per_head_norm=True)
E.dit_fused_distributed_rmsnorm(t(1, 1, 32, 64), 0, mesh, [], num_heads_per_device=1)
E.dit_fused_distributed_rmsnorm(t(2, 1, 32, 64), 0, mesh, [], num_heads_per_device=1, per_head_norm=True)
E.dit_fused_distributed_rmsnorm(t(1, 1, 32, 64), 0, mesh, [], memory_config=L1, dtype=F32)
E.dit_fused_distributed_groupnorm(t(1, 1, 32, 64), num_groups=2, cluster_axis=1, mesh_device=mesh, multi_device_global_semaphore=[], memory_config=L1)
E.dit_fused_distributed_groupnorm(t(2, 1, 32, 64), num_groups=2, cluster_axis=0, mesh_device=mesh, multi_device_global_semaphore=[], activation="silu")
fused_norm(weight=t(1, 1, 1, 64), memory_config=L1)
fused_norm(weight=t(1, 1, 1, 64), dtype=F32)
minimal(memory_config=L1)
minimal(input_tensor=t(32, 32, memory=L1))
strided(memory_config_mm=L1)
strided(memory_config_ag=L1)
scattered(memory_config_mm=L1)
scattered(rs_output_mem_config=L1)
E.llama_rs_matmul(t(1, 1, 32, 64), t(1, 1, 64, 128), t(1, 1, 32, 128), 3, [], 1, mesh, rs_tensor=t(1, 1, 32, 256), memory_config_mm=L1)
residual(t(2, 1, 32, 32), t(1, 1, 32, 32), t(2, 1, 32, 1), t(2, 1, 32, 1), t(2, 1, 1, 32), memory_config=L1)
halo(memory_config=L1)
E.halo_scatter(r(20, 4), r(1, 1, 4, 4, 4), 1, 1, memory_config=L1)
E.neighbor_pad_async(r(4, 8, 8), [1], [1], [1], "zeros", [0], [], [], memory_config=L1)
E.slice_reshard_async(r(8, 4, 4, 4), 0, 0, 4, 1, [], [], memory_config=L1)
E.slice_reshard_async(r(8, 4, 4, 4, on=part), 0, 0, 1, 0, [], [])
dispatched(memory_config=L1)
combined(memory_config=L1)
combined(counts=range(16))
combined(cluster_axis=None, dispatch_group_size=2)
dispatched(cluster_axis=None, dispatch_group_size=2)
dispatched(cluster_axis=None)
indexed(k_local=t(2, 1, 64, 32), cache_batch_idx=0)
indexed(k_local=t(2, 1, 64, 32), cache_batch_idx=1)
indexed(k_local=t(2, 1, 64, 32), cache_batch_idx=2)
combined(counts=62)
minimal(input_tensor=t(64, 32), config=MinimalMatmulConfig(K_block_size=2))
combined(counts=63)
combined(counts=64)
dispatched(experts_per_chip=1)
residual(t(2, 1, 32, 32), t(1, 1, 32, 32), t(2, 1, 32, 1), t(2, 1, 32, 1), t(2, 1, 1, 32), cluster_axis=0, inv_hidden_size=1 / 64, parts=2)
indexed(on=part, cluster_axis=None, block_cyclic_chunk_local=32)
indexed(on=part, cluster_axis=None, block_cyclic_chunk_local=16)
indexed(on=part, cluster_axis=1, block_cyclic_chunk_local=32)
carried(0, on=part)
carried(3, axis=0)
carried(36, axis=0)
carried(36, axis=1)
carried(36, axis=1, end=40)
prefill.csa_compressor(t(1, 1, 16, 64), t(1, 1, 16, 64), t(1, 1, 4, 64), t(1, 1, 64, 32), t(1, 1, 64, 32), seq_len_actual=1)
prefill.csa_compressor(t(1, 1, 16, 64), t(1, 1, 16, 64), t(1, 1, 4, 64), t(1, 1, 64, 32), t(1, 1, 64, 32), seq_len_actual=18, cluster_axis=1)
E.dit_fused_distributed_rmsnorm(t(1, 1, 32, 64), 0, mesh, [], weight=t(1, 1, 1, 32), num_heads_per_device=1, per_head_norm=True)
E.dit_fused_distributed_rmsnorm(t(1, 1, 32, 64), 0, mesh, [], weight=t(1, 1, 32, 64), num_heads_per_device=2, per_head_norm=True)
E.dit_fused_distributed_rmsnorm(t(1, 1, 32, 64), 0, mesh, [], weight=t(1, 1, 32, 32), num_heads_per_device=2, per_head_norm=True)
E.dit_fused_distributed_layernorm(t(1, 1, 33, 64), 0, mesh, [], num_heads_per_device=2)
E.dit_fused_distributed_layernorm(t(1, 1, 33, 64), 0, mesh, [], num_heads_per_device=3)
E.dit_fused_distributed_groupnorm_create_stats_buffer(t(2, 1, 32, 64), 4, 1, mesh)
"""


class Names:
    """What the calls are made of, on a mesh of 2x4 and a row of it."""

    def __init__(self) -> None:
        self.mesh = open_mesh_device(MeshShape(2, 4), l1_small_size=16384)
        self.part = self.mesh.create_submesh(MeshShape(1, 4))
        grid = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(1, 1))])
        self.semaphores = [create_global_semaphore(self.mesh, grid, 0) for _ in range(3)]
        self.E, self.prefill, self.kda, self.plain = (
            Forms(f"ttnn.{name}") for name in ("experimental.", "experimental.deepseek_prefill.", "experimental.kda.", "")
        )  # fmt: skip

    def t(
        self,
        *shape: int,
        dtype: Any = DataType.BFLOAT16,
        layout: Any = Layout.TILE,
        on: Any = None,
        memory: Any = None,
    ) -> Tensor:
        on = on or self.mesh
        values = (np.arange(int(np.prod(shape))) % 7 % 3).reshape(shape).astype(np.float32)
        mapper = ReplicateTensorToMesh(on)
        return from_torch(values, dtype, layout=layout, device=on, mesh_mapper=mapper, memory_config=memory)

    def r(self, *shape: int, dtype: Any = DataType.BFLOAT16, on: Any = None) -> Tensor:
        return self.t(*shape, dtype=dtype, layout=Layout.ROW_MAJOR, on=on)

    def w(self, *shape: int) -> Tensor:
        return self.r(*shape, dtype=DataType.UINT16)

    def n(self, value: int, on: Any = None) -> Tensor:
        on = on or self.mesh
        mapper = ReplicateTensorToMesh(on)
        return from_torch(np.array([value], np.uint32), DataType.UINT32, device=on, mesh_mapper=mapper)

    def residual(self, *given: Tensor, **words: Any) -> Any:
        words = {"cluster_axis": 1, "inv_hidden_size": 1 / 128, **words}
        parts = 2 * words.pop("parts", 4)
        return self.prefill.attn_res_gather_softmax(
            *given, self.t(1, parts, 32, 1, dtype=DataType.FLOAT32), [], **words
        )

    def indexed(self, on: Any = None, **words: Any) -> Any:
        given: dict[str, Any] = {
            "q": self.t(1, 2, 32, 32, on=on), "k": self.t(1, 1, 256, 32, on=on), "weights": self.t(1, 1, 32, 2, on=on),
            "k_local": self.t(1, 1, 64, 32, on=on), "cluster_axis": 1, "topology": Topology.Ring, **words,
        }  # fmt: skip
        return self.E.ring_indexer_score_dsa(ag_multi_device_global_semaphore=self.semaphores, **given)

    def carried(self, start: int, on: Any = None, axis: int = 0, end: int | None = None) -> Any:
        from tt_run.runtime.tuning.delta_rule import QkvCausalConv1dSiluProgramConfig

        on = on or self.mesh
        numbers = {"actual_start": start, "actual_end": end}
        return self.kda.qkv_causal_conv1d_silu_with_carry(
            self.r(1, 32, 96, on=on), self.r(1, 3, 96, on=on), *(self.t(1, 96, on=on) for _ in range(4)), 32, 32, 32,
            program_config=QkvCausalConv1dSiluProgramConfig(channel_chunk_size=32), exchange_semaphores=self.semaphores,
            exchange_buffer=self.r(1, 6 * tuple(on.shape)[axis], 96, on=on), sequence_parallel_axis=axis,
            **{name: self.n(value, on) for name, value in numbers.items() if value is not None},
        )  # fmt: skip

    def fused_norm(self, **words: Any) -> Any:
        return self.plain.fused_rms_minimal(self.t(1, 1, 32, 64), None, 1, self.mesh, [], **words)

    def minimal(self, **words: Any) -> Any:
        given: dict[str, Any] = {
            "input_tensor": self.t(32, 32), "weight_tensor": self.t(128, 128), "cluster_axis": 1, "num_workers_per_link": 8,
            **words,
        }  # fmt: skip
        return self.E.all_gather_minimal_matmul_async(multi_device_global_semaphore=self.semaphores, **given)

    def strided(self, **words: Any) -> Any:
        given: Any = self.t(1, 1, 32, 32), self.t(1, 1, 128, 128), None, 3, [], CoreCoord(0, 0)
        return self.E.strided_all_gather_minimal_matmul_async(*given, cluster_axis=1, **words)

    def scattered(self, **words: Any) -> Any:
        given: Any = self.t(1, 1, 32, 32), self.t(1, 1, 32, 128), 3, [], CoreCoord(0, 0)
        return self.E.minimal_matmul_strided_reduce_scatter_async(
            *given, compute_kernel_config=None, cluster_axis=1, **words
        )

    def halo(self, **words: Any) -> Any:
        order = ("np_pad_dim2", "np_pad2_left", "np_pad2_right")
        given: dict[str, Any] = {"np_pad_dim2": 3, "np_pad2_left": 1, "np_pad2_right": 1, **words}
        numbers = [given.pop(name) for name in order]
        return self.E.neighbor_pad_halo(
            self.r(1, 1, 4, 4, 4), self.r(20, 4), 1, 1, 0, 1, Topology.Linear, *self.semaphores, *numbers, 1, 1, **given
        )  # fmt: skip

    def _routed(self) -> dict[str, Any]:
        return {
            "input_tensor": self.r(1, 32, 32), "indices_tensor": self.w(1, 32, 2), "experts_per_chip": 2, "num_routed_experts": 16,
            "num_experts_per_tok": 2, "metadata_len": 3, "max_dispatch_buffer_token_size": 64, "cluster_axis": 1,
        }  # fmt: skip

    def _table(self, rows: int, dtype: Any = DataType.INT32) -> Tensor:
        return self.r(rows, 16, dtype=dtype)

    def dispatched(self, **words: Any) -> Any:
        given: dict[str, Any] = {
            **self._routed(), "expert_offsets_tensor": self._table(1), "expert_dispatch_table_tensor": self._table(1),
            "dispatch_group_size": 4, **words,
        }  # fmt: skip
        return self.prefill.dispatch(**given)

    def around(self, **words: Any) -> Any:
        given: dict[str, Any] = {
            **self._routed(), "expert_offsets": self._table(4), "expert_dispatch_table": self._table(1),
            "expert_token_counts": self._table(1), "expert_region_offsets": self._table(1), "seq_len_per_chip": 32,
            "topology": Topology.Ring, "memory_config": DRAM_MEMORY_CONFIG, **words,
        }  # fmt: skip
        return self.prefill.dispatch_fabric2d(**given)

    def combined(self, counts: Any = 40, **words: Any) -> Any:
        given: dict[str, Any] = {
            "dispatched_metadata": self.notes(64, 3), "dispatch_group_size": 4, "experts_per_chip": 2, "num_experts_per_tok": 2, "seq_len_per_chip": 32, "cluster_axis": 1,
            **words,
        }  # fmt: skip
        tables = {
            f"expert_{name}": self._ints(np.broadcast_to(np.asarray(value), (1, 16)))
            for name, value in (("token_counts", counts), ("region_offsets", 2))
        }
        return self.prefill.combine(self.r(1, 1, 64, 32), **tables, **given)

    def notes(self, rows: int, words: int) -> Tensor:
        """Of a buffer whose rows come from the first tokens of each device, for their first slots."""
        return self._ints(
            np.stack([np.arange(rows) % 8, np.arange(rows) // 8, *np.zeros((words - 2, rows))], -1)[
                None, None
            ]
        )

    def _ints(self, values: Any) -> Tensor:
        mapper = ReplicateTensorToMesh(self.mesh)
        return from_torch(values.astype(np.int32), DataType.INT32, device=self.mesh, mesh_mapper=mapper)

    def room(self, **words: Any) -> Any:
        given: dict[str, Any] = {
            "emb_dim": 64, "experts_per_chip": 2, "num_experts_per_tok": 4, "seq_len_per_chip": 32, "combine_axis": 1, **words,
        }  # fmt: skip
        return self.prefill.hybrid_routed_expert_moe_forwarding_buffer(self.mesh, **given)

    def metadata(self, **words: Any) -> Any:
        given: dict[str, Any] = {
            "input_tensor": self.r(1, 8, 1, 32), "expert_indices_tensor": self.w(1, 8, 1, 2),
            "expert_scores_tensor": self.r(1, 8, 1, 2), "expert_mapping_tensor": self.w(1, 1, 8, 8), "cluster_axis": 1, **words,
        }  # fmt: skip
        return self.E.all_to_all_dispatch_metadata(**given)


def told(found: Any) -> str:
    """What a call gives: shapes and types, and of the sixth device how many values are finite, and the sum of their magnitudes by places.

    Four digits, and nothing that cancels: the last bits of a norm are other ones on another processor.
    """
    if found is None:
        return "None"
    if isinstance(found, (list, tuple)):
        return "; ".join(map(told, found))
    shards = found.shards.each()
    held = np.asarray(shards[min(5, len(shards) - 1)], np.float64).reshape(-1)
    seen = np.isfinite(held)
    total = (np.abs(held) * (1 + np.arange(held.size) % 13))[seen].sum()
    place = found.memory_config()
    where = "" if place == DRAM_MEMORY_CONFIG else f" {memory_text(place)}"
    return (
        f"{list(found.shape)} {found.dtype.name} {found.layout.name}{where}, {seen.sum()} values, {total:.4g}"
    )


@pytest.fixture
def names() -> Iterator[Names]:
    found = Names()
    yield found
    found.mesh.close()


def test_what_is_refused_is_as_it_was_read(names: Names) -> None:
    from tt_run.runtime.tuning.activation import UnaryOpType
    from tt_run.runtime.tuning.matmul import MinimalMatmulConfig

    more = {
        "F32": DataType.FLOAT32, "Topology": Topology, "UnaryOpType": UnaryOpType, "MinimalMatmulConfig": MinimalMatmulConfig,
        "L1": L1_MEMORY_CONFIG,
    }  # fmt: skip
    known = {name: getattr(names, name) for name in dir(names) if name[0] != "_"} | more
    lines = []
    for call in CALLS.splitlines():
        try:
            text = told(eval(call, known))
        except (RuntimeError, TypeError, ValueError) as error:
            # Without signatures, and without numbers of lines, which move.
            words = (
                str(error).rpartition("\n    ")[2].partition("\n")[2]
                if isinstance(error, TypeError)
                else str(error)
            )
            text = re.sub(r"\.py:\d+", ".py", f"{type(error).__name__}: {words}").replace("\n", "\n  ")
        lines.append(f"{call}\n  {text}\n")
    same_as_read("".join(lines), Path(__file__).with_name("fused_words.txt"))
