"""Every name that the documents and the reference library 0.81.1 publish resolves through the shims."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.launch import ROOT, environment

SHIMS = ROOT / "tt_run" / "shims"

PUBLISHED = {
    "ttml": """
        autograd ops modules models optimizers core common init schedulers fsdp _mesh _ttml Layout DataType argmax Mesh mesh maybe_mesh
        current_mesh current_mesh_or_raise open_device_mesh close_device_mesh reset_metal_env checkpointing Sharding sync_gradients sync_sequence_parallel_gradients manual_seed lazy_init is_lazy_init_enabled materialize_module NamedParameters
    """,
    "ttml.datasets": "Batch TTMLDataloader InMemoryDataloader sft_collate_fn causal_lm_collate_fn",
    "ttml.datasets.dataloader": "Batch TTMLDataloader",
    "ttml.datasets.hf_dataloader": "InMemoryDataloader sft_collate_fn",
    "ttml.trainers": "SFTConfig SFTTrainer TrainerCallback LoraConfig GRPOConfig GRPOTrainer get_grpo_config",
    "ttml.trainers.callback": "TrainerCallback",
    "ttml.trainers.grpo_trainer": """
        GRPOCompleter GRPOMonitor RolloutBatch RolloutSampler compute_advantages_host compute_advantages_ttnn iter_batched_completions dispatch_reward iter_micro_batch upload_micro_advantages
        check_new_weight_version layout_microbatch place_old_nlog_probs save_checkpoint RemoteRolloutConfig ROLLOUT_SOURCES ROLLOUT_MODES
        VALID_ROLLOUT_COMBINATIONS TTMLRolloutSampler build_rollout_sampler ScoredRolloutBatch RolloutBatchSource InProcessRolloutBatchSource
        build_rollout_batch_source validate_rollout_batch GRPOTrainer GRPOConfig get_grpo_config
    """,
    "ttml.trainers.grpo_trainer.grpo_trainer": "GRPOTrainer RolloutBatch dispatch_reward",
    "ttml.trainers.grpo_trainer.grpo_ttml_model": "setup_ttml_model open_device load_checkpoint load_hf_state_dict weights_ref_hf_dict load_from_safetensors",
    "ttml.trainers.grpo_trainer.distributed": "init_distributed_training is_rollout_rank",
    "ttml.trainers.rollout.device_utils": "deallocate_tensors async_read_to_host",
    "ttml.trainers.grpo_trainer.llama_composite_kv": "LlamaCompositeKV",
    "ttml.trainers.grpo_trainer.rollout_batch_source": "tokenize_prompts score_rollout RolloutBatchSource",
    "ttml.trainers.grpo_trainer.remote_rollout.mpi_rollout": "MPIRolloutServer MPIRolloutClient",
    "ttml.trainers.grpo_trainer.remote_rollout.weight_bridge": "WeightBridge HostWeightBridge TTML_RANK TTT_RANK",
    "ttml.trainers.grpo_trainer.remote_rollout.sync_remote_rollout_batch_source": "SyncRemoteRolloutBatchSource",
    "ttml.trainers.grpo_trainer.remote_rollout.ttt_rollout_sampler": "TTTRolloutSampler",
    "ttml.trainers.grpo_trainer.remote_rollout.llama_ttt_presets": "bf16_attn_bfp8_mlp_optimizations llama_stop_and_pad LLAMA_STOP_TOKEN_STRS",
    "ttml.trainers.grpo_trainer.ttml_rollout_sampler": "TTMLRolloutSampler",
    "ttml.distributed": """
        Layout DistributedLayout Shard Replicate get_layout set_layout MeshRuntime get_runtime set_runtime distribute_tensor distribute_batch
        distribute_module parallelize_module sync_gradients ParallelStyle ColwiseParallel RowwiseParallel init_ops fully_shard FSDPModule
        dispatch register_op redistribute ShardingPlan register_rule get_rule DispatchTracer DispatchTraceCallback dispatch_trace
    """,
    "ttml.distributed.fsdp": "FSDPModule ShardedParameter fully_shard setup_prefetching synchronize_fsdp_gradients clear_fsdp_registry",
    "ttml.distributed.cache": "PlanCache",
    "ttml.distributed.ddp": "DistributedDataParallel",
    "ttml.autograd.numpy_assign": "assign_numpy",
    "ttml.distributed.debug": "TraceEntry DispatchTrace DispatchTracer DispatchTraceCallback dispatch_trace",
    "ttml.distributed.rules.registry": """
        ShardingPlan CCL Broadcast AllReduce AllGather OptionalCCL register_rule get_rule register_module_rule get_module_rule _OP_RULES _MODULE_RULES
    """,
    "ttml.distributed.rules.matmul": "linear_rule matmul_rule",
    "ttml.distributed.rules.elementwise": "elementwise_binary_rule elementwise_unary_rule dropout_rule",
    "ttml.distributed.rules.normalization": "rmsnorm_rule layernorm_rule",
    "ttml.distributed.rules.attention": """
        sdpa_rule ring_sdpa_rule grouped_heads_creation_rule heads_creation_rule heads_fusion_rule rope_rule embedding_rule reshape_rule
    """,
    "ttml.distributed.rules.collectives": "broadcast_rule all_gather_rule all_reduce_rule scatter_rule",
    "ttml.distributed.dispatch": "dispatch register_op _RAW_OPS _get_raw _hashable_kwargs",
    "ttml.distributed.redistribute": "redistribute",
    "ttml.distributed.utils": "is_distributed",
    "ttml.distributed._register_ops": "init_ops",
    "ttml.distributed.module_rules": "_infer_bias_layout",
    "ttml.distributed.rules.loss": "cross_entropy_loss_rule",
    "ttml.distributed.layout": "replicated_layout layout_from_topology layout_to_mapper_config",
    "ttml.distributed.mesh_runtime": "MeshRuntime get_runtime set_runtime",
    "ttml.distributed.style": "ColwiseParallel RowwiseParallel",
    "ttml.distributed.training": "distribute_module parallelize_module _match_policy",
    "ttml.trainers.rollout": "TTMLRolloutSampler RolloutBatch RolloutSampler",
    "ttml.models.qwen3.weights": "load_weights_from_hf",
    "ttml.fsdp": "fully_shard is_fsdp_managed fsdp_axis_of enable_overlap",
    "ttml.checkpointing": "save_checkpoint load_checkpoint read_header CheckpointShapeError",
    "ttml.models.bert": "Bert BertConfig create",
    "ttml.models.deepseek.torch_baseline": "ModelArgs MoE Transformer",
    "_ttml": "autograd models ops Layout",
    "ttml._mesh": "Mesh mesh maybe_mesh sync_gradients",
    "ttml._ttml": "autograd ops modules models optimizers core",
    "ttml._ttml.models.linear_regression": "create_linear_regression_model",
    "ttml._ttml.ops": "binary unary",
    "ttml.modules.lora": "LoraConfig LoraModel LoraLinear",
    "ttml.ops.swiglu": "swiglu",
    "ttml.ops.conv": "conv3d prepare_conv3d_weight PreparedConv3dWeight",
    "ttml.ops.gated_rmsnorm": "gated_rmsnorm",
    "ttml.models.wan2_2": """
        WanConfig WanConditioning WanTransformer3D WanTransformerBlock build_rope_params build_tables conv3d_weight_to_linear grid_size
        load_expert_from_safetensors patch_features patchify patchify_output_order timestep_features to_ttml_name unpatchify
    """,
    "ttml.models.wan2_2.attention": "SplitHeads WanAttention _RMSNorm",
    "ttml.models.wan2_2.conditioning": "WanConditioning timestep_features",
    "ttml.models.wan2_2.patch_embed": "conv3d_weight_to_linear patchify",
    "ttml.models.wan2_2.rope": "apply axis_split build_rope_params build_tables",
    "ttml.models.wan2_2.transformer": "GeluTanh WanFeedForward WanLayerNorm WanTransformerBlock",
    "ttml.models.wan2_2.weights": "load_expert_from_safetensors to_ttml_array to_ttml_name",
    "ttml.models.qwen38": """
        Qwen38Config Qwen38GatedAttention Qwen38GatedDeltaNet Qwen38Block Qwen38MLP Qwen38RMSNorm Qwen38Transformer chunk_gated_delta_rule wy_inverse
    """,
    "ttml.models.qwen38.attention": "Qwen38GatedAttention",
    "ttml.models.qwen38.autograd_ops": "autograd_slice autograd_concat autograd_split tril_ones causal_mask identity",
    "ttml.models.qwen38.checkpoint": "recompute",
    "ttml.models.qwen38.config": "Qwen38Config",
    "ttml.models.qwen38.delta_rule": "chunk_gated_delta_rule wy_inverse",
    "ttml.models.qwen38.flops": "Qwen38Flops qwen38_flops flops_per_token",
    "ttml.models.qwen38.fused_conv": "fused_causal_conv1d_silu",
    "ttml.models.qwen38.fused_delta_rule": "fused_chunk_gated_delta_rule fused_chunk_gated_delta_rule_flat flat_l2_norm MAX_HEADS",
    "ttml.models.qwen38.gated_deltanet": "Qwen38GatedDeltaNet fold_heads unfold_heads causal_conv1d_silu",
    "ttml.models.qwen38.gated_norm": "gated_rmsnorm",
    "ttml.models.qwen38.loading": "load_from_safetensors SKIPPED_PREFIXES",
    "ttml.models.qwen38.lora": "default_targets build_lora_config apply_lora trainable_summary",
    "ttml.models.qwen38.parallel": "tp_size make_column_linear make_row_linear make_sharded_parameter qkv_shard_permutation tp_shard_dim",
    "ttml.models.qwen38.transformer": "Qwen38RMSNorm Qwen38MLP Qwen38Block Qwen38Transformer",
    "ttml.ops.metal": "depthwise_conv1d_k4 gated_rmsnorm_fw gated_rmsnorm_bw swiglu_packed_fw swiglu_packed_bw moe_group moe_ungroup",
    "ttml.ops.metal_ops": "moe_group moe_ungroup",
    "ttml.ops.moe": "moe_group_op moe_ungroup_op moe_ffn_swiglu_fw",
    "ttml.models.deepseek.moe_sparse": "SparseMoE",
    "ttml.models.deepseek.moe_sparse_ep": "SparseMoEEP",
    "ttml.models.deepseek.moe_sparse_tp": "SparseMoETP",
    "ttml.models.nanogpt.safetensors_loader": "load_gpt2_from_safetensors",
    "ttml.modules.embedding": "Embedding VocabParallelEmbedding FeatureParallelEmbedding",
    "ttml.modules.linear": "LinearLayer ColumnParallelLinear RowParallelLinear",
    "ttml.trainers.grpo_monitor": "GRPOMonitor",
    "ttml.trainers.rollout.base": "RolloutBatch RolloutSampler",
    "ttml.trainers.rollout.ttml_rollout_sampler": "TTMLRolloutSampler",
    "ttml.lazy": "lazy_init is_lazy_init_enabled materialize_module",
    "ttml.autograd.function": "Function FunctionContext get_links",
    "ttml.models.qwen3.attention": "Qwen3Attention",
    "ttml.models.qwen3.transformer": "Qwen3 Qwen3Config Qwen3DecoderLayer create_qwen3_config_from_hf",
    "ttml.models.qwen3.safetensors_loader": "load_from_safetensors load_from_hf _fuse_kv _split_kv _kv_match _unpermute_proj_rows _repermute_proj_rows",
    "ttml.models.qwen3.kv_cache": "KVCache",
    "ttml.models.qwen3.rmsnorm": "Qwen3RMSNorm RMSNormFunction",
    "ttml.models.qwen3.autograd_ops": "ConcatLastDim RMSNormFunction",
    "ttml.models.nanogpt.pos_embedding": "PositionalEmbedding TrainablePositionalEmbedding",
    "ttml.ops.mla": "qkv_assemble_fw",
    "ttml.ops.swiglu_packed": "swiglu_packed",
    "ttml.models.autograd_ops": "SequencePrefixSlice ConcatLastDim",
    "ttml.models.llama.autograd_ops": "ConcatLastDim SliceLastDim",
    "ttml.models.llama.hf_exporter": "save_to_hf_format",
    "ttml.models.llama.safetensors_loader": """
        load_from_safetensors ROW_DIM COL_DIM _TIED_NAMES _assemble _canonical _check_coverage _check_sources _pad_to _require_shape _rules
        _sharded_dim _to_bf16_4d _unpermute_proj_rows
    """,
    "ttml.testing": "TP_AXIS_SIZE bf16_spacing ulp_error assert_within_ulp mesh_composer read_mesh_tensor device_mesh",
    "ttml.parallel": "SEQUENCE_DIM TPStrategy is_sequence_parallel",
    "ttml.common.config": """
        get_config get_model_config get_training_config get_device_config get_multihost_config yaml_deep_update PipelineParallelHostConfig
        load_config TrainingConfig DeviceConfig MultiHostConfig TransformerConfig SchedulerConfig SpeedrunSchedulerConfig
        get_tt_metal_home
    """,
    "ttml.common.schedulers": """
        CosineAnnealingScheduler LambdaScheduler LinearScheduler SequentialScheduler SpeedrunScheduler StepScheduler
    """,
    "ttml.autograd": """
        AutoContext Tensor AutocastTensor Graph GraphNode NodeId GradMode PreferredPrecision DistributedConfig
        ParallelismContext create_tensor get_links Function callback DataType
    """,
    "ttml.core": "empty_like zeros_like ones_like clip_grad_norm distributed utils TTProfiler",
    "ttml.core.utils": "MemoryUsageTracker DRAMUsage",
    "ttml.core.distributed": """
        enable_fabric disable_fabric all_reduce all_gather reduce_scatter replicate_tensor_to_mesh_mapper shard_tensor_to_mesh_mapper concat_mesh_to_tensor_composer create_mesh_composer
        create_mesh_composer_config synchronize_gradients set_tensor_placements SocketType SocketManager DistributedContext
    """,
    "ttml.common": "config utils data model_factory generate sampling schedulers trainer performance memory_utils muon_optimizer",
    "ttml.common.utils": """
        set_seed round_up_to_tile initialize_device create_optimizer get_loss_over_devices build_logits_mask no_grad
        PerformanceMeter summary resolve_padded_load_shape build_causal_mask build_mesh get_available_device_memory_in_bytes get_tt_metal_runtime_root
    """,
    "ttml.common.data": "PAD_TOKEN BEGIN_TOKEN END_TOKEN CharTokenizer load_shakespeare_text prepare_data get_batch build_causal_mask",
    "ttml.common.model_factory": "TransformerModelFactory adjust_vocab_size map_runner_type",
    "ttml.common.performance": "PerformanceMeter get_available_device_memory_in_bytes get_device_peak_tflops_bf16",
    "ttml.common.generate": "generate create_causal_mask_kv_cache tokens_to_tensor_kv_cache",
    "ttml.common.sampling": "positions_to_tensor",
    "ttml.common.trainer": "train get_batch_ttml",
    "ttml.common.memory_utils": "MemoryUsageTracker MemorySnapshotFunction memory_snapshot memory_tracking_enabled",
    "ttml.common.muon_optimizer": "Muon MuonWithAdamW register",
    "ttml.common.profiler_utils": "profiler_marker profiler_marker_start profiler_marker_end",
    "ttml.init": "uniform normal zeros ones uniform_ normal_ constant_ xavier_uniform kaiming_normal manual_seed",
    "ttml.ops": """
        ReduceType binary unary matmul linear loss layernorm rmsnorm dropout embedding attention multi_head_utils rope
        reshape sample distributed swiglu rand randn rand_
    """,
    "ttml.ops.binary": "add sub mul div min",
    "ttml.ops.unary": "relu gelu silu mean exp clip log_softmax log_softmax_moreh broadcast_batch sigmoid softplus sum_over_dim cumsum l2_norm shift_along_dim transpose",
    "ttml.ops.matmul": "matmul_op",
    "ttml.ops.linear": "linear ttnn_linear_backward moreh_linear_backward",
    "ttml.ops.loss": "mse_loss cross_entropy_loss nll_loss",
    "ttml.ops.layernorm": "layernorm composite_layernorm",
    "ttml.ops.rmsnorm": "rmsnorm rmsnorm_composite",
    "ttml.ops.dropout": "dropout",
    "ttml.ops.embedding": "embedding",
    "ttml.ops.attention": "scaled_dot_product_attention scaled_dot_product_attention_composite",
    "ttml.ops.multi_head_utils": "heads_creation heads_fusion grouped_heads_creation",
    "ttml.ops.rope": "build_rope_params rope gen_freqs validate_rope_input_and_params RopeScalingParams RotaryEmbeddingParams",
    "ttml.ops.reshape": "reshape",
    "ttml.ops.sample": "sample_op",
    "ttml.ops.distributed": "all_reduce broadcast all_gather reduce_scatter scatter ring_shift GradOutputType vocab_parallel_cross_entropy_loss",
    "ttml.modules": """
        ModuleBase AbstractModuleBase Parameter Buffer ModuleList ModuleDict RunMode InferenceMode LinearLayer Embedding
        ColumnParallelLinear RowParallelLinear VocabParallelEmbedding TensorMetadata LoraConfig LoraModel LoraLinear
    """,
    "ttml.models": "RunnerType WeightTyingType linear_regression nanogpt gpt2 llama mlp distributed qwen3 deepseek memory_efficient_runner KvCache KvCacheConfig BaseTransformer",
    "ttml.models.linear_regression": "create_linear_regression_model",
    "ttml.models.nanogpt": "NanoGPTConfig NanoGPTExperimentalConfig PositionalEmbedding TrainablePositionalEmbedding NanoGPT create_nanogpt GPTBlock GPTMLP MultiHeadAttention Embedding LayerNorm",
    "ttml.models.nanogpt.gpt_block": "GPTBlock LayerNorm",
    "ttml.models.nanogpt.gpt_mlp": "GPTMLP",
    "ttml.models.nanogpt.multi_head_attention": "MultiHeadAttention",
    "ttml.models.nanogpt.embedding": "Embedding",
    "ttml.modules.module_base": "AbstractModuleBase ModuleBase ModuleList ModuleDict RunMode",
    "ttml.modules.parameter": "Parameter Buffer TensorMetadata LAZY_PARAMETER_ACCESS_MSG replace_lazy_mapper",
    "ttml.models.gpt2": "GPT2Transformer GPT2TransformerConfig GPT2TransformerConfigExperimental PositionalEmbeddingType create_gpt2_model",
    "ttml.models.llama": "LlamaConfig Llama create_llama_model LlamaRopeScalingConfig load_from_safetensors CppLlamaConfig create_cpp_llama_model calculate_flops_per_token",
    "ttml.models.llama.flops": "calculate_flops_per_token",
    "ttml.models.llama.gqattn": "GroupedQueryAttention",
    "ttml.models.llama.transformer": "LlamaBlock",
    "ttml.models.nanogpt.flops": "calculate_flops_per_token",
    "ttml.models.qwen3": "Qwen3 Qwen3Config Qwen3RMSNorm Qwen3RopeScalingConfig ConcatLastDim create_qwen3_config_from_hf",
    "ttml.models.qwen3.flops": "calculate_flops_per_token",
    "ttml.models.deepseek": "DeepSeek DeepSeekConfig",
    "ttml.models.deepseek.autograd_ops": "autograd_slice autograd_concat autograd_split split_heads",
    "ttml.models.deepseek.flops": "calculate_flops_per_token",
    "ttml.models.deepseek.mla": "MultiHeadLatentAttention",
    "ttml.models.deepseek.moe": "MoE",
    "ttml.models.mlp": "MultiLayerPerceptronParameters create_mlp_model",
    "ttml.models.distributed.gpt2": "create_gpt2_model DistributedGPT2Transformer",
    "ttml.models.distributed.llama": "create_llama_model DistributedLlama",
    "ttml.models.distributed.pipeline_parallel": "PipelineParallelConfig llama",
    "ttml.models.distributed.pipeline_parallel.llama": "create_llama_model",
    "ttml.optimizers": """
        SGD SGDConfig SGDComposite AdamW AdamWConfig MorehAdamW AdamWComposite AdamWFullPrecision AdamWFullPrecisionConfig
        NoOp Muon MuonConfig MuonComposite RemoteOptimizer create_optimizer register_optimizer OptimizerBase
    """,
    "ttml.schedulers": "LRSchedulerBase LambdaScheduler StepScheduler LinearScheduler CosineAnnealingScheduler SequentialScheduler",
}
METHODS = {
    "ttml.autograd.AutoContext": """
        get_instance open_device close_device get_device set_seed get_seed set_gradient_mode get_gradient_mode
        add_backward_node get_graph reset_graph initialize_distributed_context get_distributed_context
        initialize_socket_manager get_socket_manager initialize_parallelism_context get_parallelism_context
        is_parallelism_context_initialized get_profiler close_profiler get_ccl_resources
    """,
    "ttml.autograd.ParallelismContext": "get_ddp_axis get_tp_axis get_ddp_size get_tp_size is_ddp_enabled is_tp_enabled",
    "ttml.autograd.Tensor": """
        from_numpy to_numpy get_value get_grad get_grad_rw get_grad_tensor set_grad set_grad_from_tensor add_grad
        is_grad_initialized set_requires_grad get_requires_grad backward shape get_shape get_rank dtype to_string assign
        set_value get_node set_node clean_node __add__ __sub__ __mul__ __truediv__ __div__
    """,
    "ttml.core.distributed.DistributedContext": "rank size barrier create_sub_context",
    "ttml.core.distributed.SocketManager": "send recv",
    "ttml.core.utils.MemoryUsageTracker": """
        begin_capture snapshot end_capture print_memory_usage clear get_dram_usage get_dram_usage_all get_l1_usage get_l1_usage_all
        get_trace_names MemoryUsageGuard
    """,
    "ttml.modules.ModuleBase": """
        create_name get_name register_module register_tensor override_module override_tensor parameters train eval
        set_run_mode get_run_mode __call__
    """,
    "ttml.modules.AbstractModuleBase": """
        named_parameters named_modules named_children named_buffers modules children buffers state_dict
    """,
    "ttml.modules.ModuleList": "append extend insert pop __iadd__ __len__ __iter__ __getitem__",
    "ttml.models.llama.Llama": "load_from_safetensors",
    "ttml.models.nanogpt.NanoGPT": "load_from_safetensors",
    "ttml.models.RunnerType": "from_string Default MemoryEfficient",
    "ttml.models.WeightTyingType": "from_string Enabled Disabled",
    "ttml.optimizers.AdamW": """
        zero_grad step get_lr set_lr get_steps set_steps get_name get_state_dict set_state_dict print_stats
    """,
    "ttml.optimizers.RemoteOptimizer": """
        zero_grad step receive_weights send_gradients get_sorted_parameters get_lr set_lr get_steps set_steps get_name
        get_state_dict set_state_dict print_stats
    """,
    "ttml.schedulers.StepScheduler": "step get_last_lr get_current_lr get_state_dict set_state_dict",
    "ttml.common.utils.PerformanceMeter": "step get_metrics",
    "ttml.Layout": "TILE ROW_MAJOR",
    "ttml.DataType": "BFLOAT16 FLOAT32 UINT32 INT32 BFLOAT8_B BFLOAT4_B UINT8 UINT16",
}


@pytest.fixture(autouse=True)
def shims(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SHIMS))


@pytest.mark.parametrize("module", PUBLISHED)
def test_published_names_resolve(module: str) -> None:
    if module.rpartition(".")[2].startswith("torch_"):
        pytest.importorskip("torch")
    found = importlib.import_module(module)
    for name in PUBLISHED[module].split():
        assert getattr(found, name) is not None, f"{module}.{name}"
        assert name in dir(found)


@pytest.mark.parametrize("owner", METHODS)
def test_members_exist(owner: str) -> None:
    module, name = owner.rsplit(".", 1)
    found = getattr(importlib.import_module(module), name)
    missing = [member for member in METHODS[owner].split() if not hasattr(found, member)]
    assert not missing


def test_an_unknown_name_is_told_its_neighbours() -> None:
    with pytest.raises(AttributeError, match="create_nanogpt"):
        _ = importlib.import_module("ttml.models.nanogpt").create_nanogtp
    for line in ("from ttml.modules import LinearLayr", "from ttnn import all_gater"):
        with pytest.raises(ImportError, match=r"the nearest names it has: (LinearLayer|all_gather)"):
            exec(line)
    with pytest.raises(ModuleNotFoundError, match=r"has no module 'ttnn\.all_gater'"):
        importlib.import_module("ttnn.all_gater")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="notes came with Python 3.11")
@pytest.mark.parametrize(
    ("module", "kind", "word", "help"),
    [
        ("ttml.modules", "LinearLayer", "has_biass", "help: 'has_biass': did you mean 'has_bias'?"),
        ("ttml.models.llama", "LlamaConfig", "num_head", "help: 'num_head': did you mean 'num_heads'?"),
        ("ttml.optimizers", "AdamW", "lrr", "help: it takes parameters, config"),
    ],
)
def test_a_misspelt_argument_is_told_what_is_meant(module: str, kind: str, word: str, help: str) -> None:
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{word}'") as refused:
        getattr(importlib.import_module(module), kind)(**{word: 1})
    assert refused.value.__notes__ == [help]


def test_ttml_may_be_imported_first_and_stays_light(tmp_path: Path) -> None:
    code = (
        "import ttml, sys; import ttnn; from ttml.common.config import load_config; from ttml.common.data import CharTokenizer; "
        "assert ttml.DataType is ttnn.DataType; print([m for m in ('datasets', 'transformers', 'torch') if m in sys.modules])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment({"PYTHONPATH": f"{SHIMS}:{ROOT}"}),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert ran.stdout.strip() == "[]"
