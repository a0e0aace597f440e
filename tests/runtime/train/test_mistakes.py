"""What a program does wrong is told in its own words: one row for each mistake."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tt_run.runtime.exports import _argument_help
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.function import Function
from tt_run.runtime.train.autograd.parallelism import DistributedConfig, ParallelismContext
from tt_run.runtime.train.autograd.tensor import Tensor, get_links
from tt_run.runtime.train.checkpointing import load_checkpoint, save_checkpoint
from tt_run.runtime.train.common import checkpoints, utils
from tt_run.runtime.train.common.config import TrainingConfig, load_config, yaml_deep_update
from tt_run.runtime.train.common.data import (
    BytePairTokenizer,
    CharTokenizer,
    build_causal_mask,
    get_batch,
    load_shakespeare_text,
    prepare_data,
)
from tt_run.runtime.train.common.generate import generate
from tt_run.runtime.train.common.utils import create_optimizer, summary
from tt_run.runtime.train.datasets.collation import causal_lm_collate_fn, sft_collate_fn
from tt_run.runtime.train.datasets.dataloader import InMemoryDataloader
from tt_run.runtime.train.dispatch import calls
from tt_run.runtime.train.memory import MemoryUsageTracker
from tt_run.runtime.train.models.bert import Bert
from tt_run.runtime.train.models.cache import KvCache, KvCacheConfig
from tt_run.runtime.train.models.decoders.deepseek import DeepSeek
from tt_run.runtime.train.models.decoders.llama import DecoderLlama
from tt_run.runtime.train.models.decoders.llama_config import LlamaConfig
from tt_run.runtime.train.models.decoders.mixture import DeepSeekConfig
from tt_run.runtime.train.models.decoders.qwen3 import Qwen3, create_qwen3_config_from_hf
from tt_run.runtime.train.models.decoders.weights import load_from_safetensors
from tt_run.runtime.train.models.gpt import NanoGPTConfig, create_nanogpt
from tt_run.runtime.train.models.linear_regression import create_linear_regression_model
from tt_run.runtime.train.models.llama import LlamaConfig as DocumentsLlama
from tt_run.runtime.train.models.llama import create_llama_model
from tt_run.runtime.train.models.llama_forms import Llama
from tt_run.runtime.train.models.runner import RunnerType, memory_efficient_runner
from tt_run.runtime.train.models.wan.latents import patchify
from tt_run.runtime.train.models.wan.transformer import WanTransformer3D
from tt_run.runtime.train.modules import initial
from tt_run.runtime.train.modules.containers import ModuleDict, ModuleList
from tt_run.runtime.train.modules.layers import DropoutLayer, Embedding, RMSNormLayer
from tt_run.runtime.train.modules.lazy import lazy_init
from tt_run.runtime.train.modules.linear import ColumnParallelLinear, LinearLayer
from tt_run.runtime.train.modules.lora import LoraConfig, LoraModel
from tt_run.runtime.train.modules.parameter import Parameter
from tt_run.runtime.train.ops import attention, distributed, matmul, rope, sample, shapes
from tt_run.runtime.train.ops.loss import cross_entropy_loss
from tt_run.runtime.train.optimizers import adamw, registry, schedulers, sgd
from tt_run.runtime.train.optimizers.clipping import clip_grad_norm
from tt_run.runtime.train.parallel import distributed as core
from tt_run.runtime.train.parallel import layouts, tensor_parallel
from tt_run.runtime.train.parallel.distributed import shard_tensor_to_mesh_mapper
from tt_run.runtime.train.parallel.fsdp import fully_shard
from tt_run.runtime.train.parallel.named_mesh import Mesh, open_device_mesh, sync_gradients
from tt_run.runtime.train.parallel.parallelize import ColwiseParallel, parallelize_module
from tt_run.runtime.train.parallel.sharding import Sharding
from tt_run.runtime.train.settings import ConfigError
from tt_run.runtime.train.trainers.grpo_config import GRPOConfig, get_grpo_config
from tt_run.runtime.train.trainers.reports import LossHistory
from tt_run.runtime.train.trainers.rollouts import advantages_of, check_new_weight_version, dispatch_reward
from tt_run.runtime.train.trainers.sampler import TTMLRolloutSampler
from tt_run.runtime.train.trainers.sft import SFTTrainer
from tt_run.runtime.train.trainers.sft_config import SFTConfig


def drawn(*shape: int) -> Tensor:
    return Tensor.from_numpy(np.random.default_rng(0).standard_normal(shape, np.float32))


class Passes(LinearLayer):
    def forward(self, x: Tensor, mask: Any = None) -> Tensor:
        return x


def tuner(**changes: Any) -> SFTTrainer:
    settings = {"model": Passes(2, 2), "train_dataloader": InMemoryDataloader([1], list, 1), "config": SFTConfig(max_steps=1, save_interval=0)}  # fmt: skip
    return SFTTrainer(**{"eval_dataloader": None, **settings, **changes})


class Text(Function):
    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        return "text"


def adam(lr: float = 0.1) -> adamw.AdamW:
    return adamw.AdamW({"w": drawn(1, 1, 4, 4)}, adamw.AdamWConfig.make(lr=lr))


def row() -> schedulers.SequentialScheduler:
    optimizer = adam()
    pair = [schedulers.StepScheduler(optimizer, 1), schedulers.StepScheduler(optimizer, 1)]
    return schedulers.SequentialScheduler(optimizer, pair, [3])


def without_axes() -> ColumnParallelLinear:
    AutoContext.get_instance()._parallelism = None
    return ColumnParallelLinear(2, 2)


def uneven_positions() -> Any:
    context = AutoContext.get_instance()
    context.close_device()
    context.open_device((1, 2))
    context._parallelism = None
    context.initialize_parallelism_context(DistributedConfig(enable_tp=True))
    sizes: dict[str, Any] = {"hidden_size": 32, "num_attention_heads": 2, "num_key_value_heads": 2, "num_hidden_layers": 1, "vocab_size": 64}  # fmt: skip
    model = DecoderLlama(LlamaConfig(**sizes, use_tp=True, sequence_parallel=True))
    return model(Tensor.from_numpy(np.zeros((1, 1, 1, 33), np.uint32)))


MISTAKES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "a mask of other lengths": (
        lambda: attention.scaled_dot_product_attention(*[drawn(1, 2, 4, 8)] * 3, drawn(1, 1, 3, 4)),
        RuntimeError, r"a mask of shape \[1, 1, 3, 4\] does not fit 4 queries and 4 keys",
    ),
    "an axis named by a number": (lambda: Mesh((1, 2), ("a", 3)), TypeError, "the name of an axis is a str, not int: 3"),  # type: ignore[arg-type]
    "placements that are a word": (lambda: Sharding("x"), TypeError, "placements are one for each axis, not 'x'"),  # type: ignore[arg-type]
    "weights of no model": (lambda: load_from_safetensors(None, "/w"), TypeError, "model is a model of ttml, not NoneType"),
    "patches of a word": (lambda: patchify("x", (1, 2, 2)), TypeError, "'latent' must be a NumPy array, not str"),  # type: ignore[arg-type]
    "patches without their size": (lambda: patchify(np.zeros(3)), TypeError, "'patch_size'"),  # type: ignore[call-arg]
    "a runner of no function": (lambda: memory_efficient_runner(3, drawn(1, 1, 2, 2)), TypeError, "'forward' must be a function, not int"),  # type: ignore[arg-type]
    "links of a number": (lambda: get_links(3), TypeError, "get_links takes tensors or a sequence of them, not int"),  # type: ignore[arg-type]
    "settings over settings that are none": (lambda: yaml_deep_update({}, 4), TypeError, "'updates' must be a map, not int"),  # type: ignore[arg-type]
    "a plan for no module": (lambda: parallelize_module(3, 4, {}), TypeError, "'module' must be a module of ttml, not int"),  # type: ignore[arg-type]
    "a reduction by its name": (lambda: cross_entropy_loss(drawn(1, 1, 2, 4), drawn(1, 2), "mean"), RuntimeError, "type 'mean'; help: ReduceType.MEAN"),  # type: ignore[arg-type]
    "an array as a value": (lambda: drawn(1, 1, 2, 2).set_value(np.zeros(3)), TypeError, r"not numpy.ndarray; help: .*from_numpy\(array\).get_value\(\)"),  # type: ignore[arg-type]
    "a value of another shape": (lambda: drawn(1, 1, 4, 4).assign(drawn(1, 1, 4, 5)), RuntimeError, r"shape \[1, 1, 4, 4\] cannot take \[1, 1, 4, 5\]"),
    "a function that makes text": (lambda: Text.apply(drawn(1, 1, 2, 2)), TypeError, "Text.forward returns a tensor or a tuple of tensors, not str"),
    "a layer without inputs": (lambda: LinearLayer(0, 4), ValueError, "in_features must be at least 1, not 0; help"),
    "a rate below zero": (lambda: adam(-0.1), RuntimeError, "AdamW: lr is at least 0 and finite, not -0.1"),
    "a rate that is none": (lambda: adam(float("nan")), RuntimeError, "lr is at least 0 and finite, not nan"),
    "no state": (lambda: adam().set_state_dict(None), TypeError, r"a state is what get_state_dict\(\) gave, not NoneType"),  # type: ignore[arg-type]
    "no configuration of an optimizer": (lambda: registry.create_optimizer(None, {}), ConfigError, "is a map, not None; help: .*'AdamW'"),  # type: ignore[arg-type]
    "a number as a schedule": (lambda: schedulers.LambdaScheduler(adam(), 3), TypeError, "lr_lambda is called with the step, got 3"),  # type: ignore[arg-type]
    "a size that is text": (lambda: LlamaConfig(hidden_size="64"), TypeError, r"LlamaConfig\(\): 'hidden_size' must be int, got str"),  # type: ignore[arg-type]
    "a size of a documents' Llama that is text": (lambda: create_llama_model(DocumentsLlama(num_heads="6")), TypeError, "'num_heads' must be int"),  # type: ignore[arg-type]
    "a width of a GPT that is text": (lambda: create_nanogpt(NanoGPTConfig(n_embd="64")), TypeError, "'n_embd' must be int"),  # type: ignore[arg-type]
    "steps that are text": (lambda: SFTConfig(max_steps="10"), TypeError, "'max_steps' must be int"),  # type: ignore[arg-type]
    "generations that are text": (lambda: GRPOConfig(num_generations="4"), TypeError, "'num_generations' must be int"),  # type: ignore[arg-type]
    "a mask that is an array": (
        lambda: attention.scaled_dot_product_attention(*[drawn(1, 2, 4, 8)] * 3, np.ones((1, 1, 4, 4))),
        TypeError, "'mask' must be a ttml.autograd.Tensor or a ttnn.Tensor, not numpy.ndarray; help: ttml.autograd",
    ),
    "an array in a parameter's place": (lambda: setattr(LinearLayer(2, 2), "weight", np.ones(4)), TypeError, "weight is a parameter and cannot become numpy.ndarray; help: weight.tensor.set_value"),
    "a number in a list of modules": (lambda: ModuleList([1]), TypeError, "ModuleList and ModuleDict hold modules of ttml, not int"),  # type: ignore[list-item]
    "adapters by a map": (lambda: LoraModel(LinearLayer(2, 2), {"rank": 4}), TypeError, "config is a LoraConfig, not dict"),  # type: ignore[arg-type]
    "a deviation below zero": (lambda: initial.normal(0.0, -1.0)((1, 1, 2, 2)), ValueError, "std is at least 0, not -1.0"),
    "a bound below zero": (lambda: clip_grad_norm({}, -1.0), ValueError, "max_norm is at least 0, not -1.0"),
    "an order of zero": (lambda: clip_grad_norm({}, 1.0, 0.0), ValueError, "p_norm_type is above 0, not 0.0"),
    "a bound that is text": (lambda: clip_grad_norm({}, "x"), TypeError, "max_norm is a number, not 'x'"),  # type: ignore[arg-type]
    "an example without labels": (lambda: sft_collate_fn([{"input_ids": [1]}], 8, 0), ValueError, "example 0 has no 'labels', it has input_ids"),
    "an example of text": (lambda: sft_collate_fn([{"input_ids": "ab", "labels": [1, 2]}], 8, 0), ValueError, "input_ids are whole numbers, one after another, not 'ab'"),
    "no examples": (lambda: sft_collate_fn([], 8, 0), ValueError, "a batch needs an example at least"),
    "a number as a data set": (lambda: InMemoryDataloader(5, list, 1), TypeError, "a data set with a length and a function of a list of examples, not int"),
    "no model to tune": (lambda: SFTTrainer(None, InMemoryDataloader([1], list, 1), None, SFTConfig()), TypeError, "SFTTrainer: model must be a module of ttml, not NoneType"),
    "settings of a trainer as a map": (lambda: SFTTrainer(LinearLayer(2, 2), InMemoryDataloader([1], list, 1), None, {"max_steps": 1}), TypeError, "config must be an SFTConfig, not dict"),  # type: ignore[arg-type]
    "a seed of a loader below zero": (lambda: InMemoryDataloader([1], list, 1, seed=-1), ValueError, "seed is a whole number, 0 or above, or None, not -1"),
    "no training set": (lambda: tuner(train_dataloader=None).train(), TypeError, "train_dataloader must be a loader of batches, not NoneType"),
    "examples in the place of batches": (lambda: tuner(train_dataloader=[{}]).train(), TypeError, "a batch has input_ids, labels and loss_mask, the loader gave dict"),
    "a schedule that is a rate": (lambda: tuner(lr_schedule=0.1), TypeError, "lr_schedule must be a function, not 0.1"),
    "a loss that is None": (lambda: tuner(compute_loss_func=lambda logits, batch: None, attention_mask=1).compute_loss(SimpleNamespace(input_ids=Tensor.from_numpy(np.ones((1, 1, 1, 2), np.float32)))), TypeError, "must return the loss, a ttml.autograd.Tensor, not NoneType"),
    "an optimizer that is a number": (lambda: tuner(optimizer=3), TypeError, "optimizer must be one, or its configuration, not int"),
    "one callback without a list": (lambda: tuner(callbacks=LossHistory()), TypeError, "callbacks must be a list, not .*LossHistory"),
    "the class of a callback": (lambda: tuner(callbacks=[LossHistory]), TypeError, r"LossHistory is a class; help: LossHistory\(\)"),
    "a callback without hooks": (lambda: tuner(callbacks=[3]), TypeError, "callbacks must be TrainerCallbacks, not int"),
    "a reward of a column that is missing": (lambda: dispatch_reward(lambda completions, answer: [0.0], ["a"], ["b"], {}), TypeError, "takes 'answer', there are completions, prompts; help: a column 'answer'"),
    "a program in the place of a checkpoint": (lambda: tuner().resume(__file__), ValueError, "test_mistakes.py is not a checkpoint of this program: it is no .npz file"),
    "a vocabulary of none": (lambda: LlamaConfig(vocab_size=0), ValueError, "LlamaConfig: vocab_size must be at least 1, not 0; help: vocab_size=256"),
    "blocks below zero": (lambda: LlamaConfig(num_hidden_layers=-1), ValueError, "num_hidden_layers must be at least 0, not -1"),
    "a share beyond one": (lambda: create_nanogpt(NanoGPTConfig(dropout=1.5)), ValueError, r"NanoGPTConfig: dropout must be in \[0, 1\], not 1.5"),
    "a runner by its name": (lambda: LlamaConfig(runner_type="memory_efficient"), TypeError, "must be RunnerType, got str; help: runner_type=RunnerType.MemoryEfficient"),  # type: ignore[arg-type]
    "tying by its name": (lambda: create_nanogpt(NanoGPTConfig(weight_tying="enabled")), TypeError, "help: weight_tying=WeightTyingType.Enabled"),  # type: ignore[arg-type]
    "no heads in the documents' Llama": (lambda: create_llama_model(DocumentsLlama(num_heads=0)), ValueError, "LlamaConfig: num_heads must be at least 1, not 0"),
    "a strategy by its name": (lambda: LlamaConfig(tp_strategy="tensor"), TypeError, "tp_strategy must be a TPStrategy, got 'tensor'; help: TPStrategy.TENSOR"),  # type: ignore[arg-type]
    "a table without rows": (lambda: Embedding(0, 4), ValueError, "Embedding: num_embeddings must be at least 1, not 0"),
    "a regression on nothing": (lambda: create_linear_regression_model(0), ValueError, "in_features must be at least 1, not 0"),
    "a regression on text": (lambda: create_linear_regression_model("a"), TypeError, "in_features must be int, got str"),  # type: ignore[arg-type]
    "a batch that is text": (lambda: InMemoryDataloader([1], list, "4"), TypeError, "batch_size must be int, got str; help: batch_size=1"),  # type: ignore[arg-type]
    "a window of text": (lambda: causal_lm_collate_fn([{"input_ids": ["a"], "labels": [1]}], 1), ValueError, "input_ids are whole numbers"),
    "a rate that is text": (lambda: tuner(lr_schedule=lambda step: "x").train(), ValueError, r"lr_schedule\(0\) must be a finite number, not 'x'"),
    "a list of parameters to clip": (lambda: clip_grad_norm([], 1.0), TypeError, "takes model.parameters"),  # type: ignore[arg-type]
    "a number to cut": (lambda: fully_shard(7), TypeError, "fully_shard: a module of ttml is cut, not int"),  # type: ignore[arg-type]
    "characters of a number": (lambda: CharTokenizer(7), TypeError, "a vocabulary is made of a text, not int"),  # type: ignore[arg-type]
    "an array as a parameter": (lambda: Parameter(np.ones((2, 2))), TypeError, "Parameter: a ttml.autograd.Tensor, not numpy.ndarray; help: ttml.autograd.Tensor.from_numpy"),  # type: ignore[arg-type]
    "an array as an operand": (lambda: drawn(1, 1, 2, 2) * np.ones(4), TypeError, r"got numpy.ndarray; help: ttml.autograd.Tensor.from_numpy\(array\)"),
    "a shape that is text": (lambda: shapes.reshape(drawn(1, 1, 2, 2), "2,2"), TypeError, r"a shape is a list of numbers, not '2,2'; help: \[1, 1, 2, 2\]"),  # type: ignore[arg-type]
    "attention of matrices": (lambda: attention.scaled_dot_product_attention(*[drawn(4, 8)] * 3), RuntimeError, r"query \[4, 8\].* have four dimensions; help: \[batch, heads"),
    "angles of no base": (lambda: rope.build_rope_params(8, 32, 0.0), RuntimeError, "theta must be positive, got 0.0; help: 10000.0"),
    "a mask of another vocabulary": (lambda: sample.sample_op(drawn(1, 1, 1, 8), 1.0, 1, drawn(1, 1, 1, 9)), RuntimeError, r"is for 9 entries of the vocabulary.*help: \[1, 1, 1, 8\]"),
    "ids as logits": (lambda: sample.sample_op(Tensor.from_numpy(np.ones((1, 1, 1, 8), np.uint32)), 1.0, 1), RuntimeError, "logits are .* floats, not .* of DataType.UINT32"),
    "a mode by its name": (lambda: LinearLayer(2, 2).set_run_mode("train"), TypeError, "'train' is no RunMode; help: RunMode.TRAIN"),  # type: ignore[arg-type]
    "an array among parameters": (lambda: adamw.AdamW({"w": np.ones(2)}, adamw.AdamWConfig.make()), TypeError, r"not dict whose 'w' is numpy.ndarray; help: AdamW\(model.parameters"),  # type: ignore[dict-item]
    "an epsilon below zero": (lambda: adamw.AdamWConfig.make(epsilon=-1.0), RuntimeError, "AdamW: epsilon is at least 0, not -1.0; help: epsilon=1e-8"),
    "a momentum below zero": (lambda: sgd.SGDConfig.make(momentum=-0.1), RuntimeError, "SGD: momentum is at least 0, not -0.1"),
    "a rate by its name": (lambda: adam().set_lr("fast"), TypeError, r"a rate is a number, not 'fast'; help: set_lr\(1e-3\)"),  # type: ignore[arg-type]
    "a seed below zero": (lambda: AutoContext.get_instance().set_seed(-1), TypeError, "0 or above, not -1; help: set_seed"),
    "gradients by their name": (lambda: AutoContext.get_instance().set_gradient_mode("off"), TypeError, "'off' is no GradMode; help: GradMode.DISABLED"),  # type: ignore[arg-type]
    "parallelism by its name": (lambda: AutoContext.get_instance().initialize_parallelism_context("ddp"), TypeError, "a DistributedConfig, not 'ddp'; help: ttml.autograd.DistributedConfig"),  # type: ignore[arg-type]
    "a header that no process could read": (lambda: save_checkpoint("w.pkl", header={"f": lambda: 1}), TypeError, r"the header \['f'\] cannot be written.* Nothing was written; help: numbers"),
    "a header without names": (lambda: save_checkpoint("w.pkl", header=[1]), TypeError, r"header is list; help: header=\{'step': 1\}"),  # type: ignore[arg-type]
    "a list of parameters to save": (lambda: save_checkpoint("w.pkl", model_params=[1]), TypeError, "model_params is list; help: model_params=model.parameters"),  # type: ignore[arg-type]
    "a ratio below zero": (lambda: GRPOConfig(epsilon=-0.1), ValueError, "GRPOConfig: epsilon must be at least 0, got -0.1"),
    "heads that do not divide": (lambda: LlamaConfig(hidden_size=64, num_attention_heads=3, num_key_value_heads=3), ValueError, "divisible by the number of attention heads.*help: a multiple of 3"),
    "groups that do not divide": (lambda: LlamaConfig(hidden_size=64, num_attention_heads=4, num_key_value_heads=3), ValueError, "key/value heads.*help: a divisor of 4"),
    "no mask for latent attention": (lambda: DeepSeek(DeepSeekConfig(vocab_size=32, dim=32, n_layers=1, n_heads=2))(Tensor.from_numpy(np.zeros((1, 1, 1, 32), np.uint32)), None), ValueError, r"Mask is required for DeepSeek model; help: .*build_causal_mask"),
    "experts that cannot be chosen": (lambda: DeepSeek(DeepSeekConfig(vocab_size=32, dim=32, n_layers=2, n_heads=2, n_routed_experts=4, n_activated_experts=3, n_expert_groups=2, n_limited_groups=1)), ValueError, "3 experts cannot be chosen.*help: fewer n_activated_experts"),
    "a text beyond the model": (lambda: create_nanogpt(NanoGPTConfig(32, 32, 32, 1, 2, 0.0))(Tensor.from_numpy(np.zeros((1, 1, 1, 33), np.uint32))), RuntimeError, "33 tokens, the model was made for 32; help: shorter texts"),
    "an evaluation without a set": (lambda: tuner().evaluate(), ValueError, "no evaluation set; help: give the trainer an eval_dataloader"),
    "a loader that is empty": (lambda: tuner(train_dataloader=[]).train(), ValueError, "gave no batch; help: more examples than a batch has"),
    "a schedule without a number": (lambda: tuner(lr_schedule=lambda step: float("nan")).train(), ValueError, "must be a finite number, not nan; help: lambda step"),
    "a batch of nothing": (lambda: causal_lm_collate_fn([], 4), ValueError, "needs an example at least; help"),
    "a text as an operand": (lambda: drawn(1, 1, 2, 2) + "x", TypeError, r"got str; help: ttml.autograd.Tensor.from_numpy"),
    "a number as a checkpoint": (lambda: load_checkpoint(5), TypeError, "path names a file, not int; help"),  # type: ignore[arg-type]
    "a folder as a checkpoint": (lambda: load_checkpoint("."), IsADirectoryError, "is a directory; help: name a file in it"),
    "schedulers without one": (lambda: schedulers.SequentialScheduler(adam(), [], []), ValueError, r"0 schedulers need.*help: SequentialScheduler"),
    "an axis that the mesh has not": (lambda: Mesh((1, 2), ("a", "b")).axis_index("c"), RuntimeError, r"no axis named 'c'.*help: ttml.Mesh\(\(1, 2\), \(…, 'c'\)\)"),
    "a size that is no number": (lambda: Embedding(None, 4), TypeError, "Embedding: num_embeddings must be int, got NoneType; help: num_embeddings=32"),  # type: ignore[arg-type]
    "outputs below one": (lambda: LinearLayer(4, -1), ValueError, "LinearLayer: out_features must be at least 1, not -1; help"),
    "norms of nothing": (lambda: RMSNormLayer(True), TypeError, "RMSNormLayer: features must be int, got bool"),
    "a shape that is none": (lambda: initial.zeros()("2,2"), TypeError, r"a shape is a list of whole numbers.*help: \[1, 1, 32, 32\]"),  # type: ignore[arg-type]
    "a bound that is no number": (lambda: initial.uniform("a", 1.0), TypeError, "init: a is a number, not 'a'; help: a=0.0"),  # type: ignore[arg-type]
    "names that are none": (lambda: LoraConfig(target_modules=None), TypeError, "target_modules is a list of names, not None; help"),  # type: ignore[arg-type]
    "a scaling by its factor": (lambda: LlamaConfig(rope_scaling=8.0), TypeError, "must be a LlamaRopeScalingConfig, not float; help: rope_scaling=Llama"),  # type: ignore[arg-type]
    "a mesh by its size": (lambda: open_device_mesh(8), TypeError, r"its sides are wanted, not int; help: open_device_mesh\(\(1, 2\)\)"),  # type: ignore[arg-type]
    "sides that are none": (lambda: Mesh(2, ("a", "b")), TypeError, "Mesh: shape must be a tuple, not int; help"),  # type: ignore[arg-type]
    "a gradient of another kind": (lambda: drawn(1, 1, 2, 2).set_grad("x"), TypeError, "a value is a ttnn.Tensor, not str; help"),  # type: ignore[arg-type]
    "an array to be assigned": (lambda: drawn(1, 1, 2, 2).assign(np.ones((1, 1, 2, 2))), TypeError, "assign: a tensor is taken from .*not numpy.ndarray; help"),  # type: ignore[arg-type]
    "angles that are none": (lambda: rope.rope(drawn(1, 1, 32, 32), None), TypeError, r"'rope_params' must be a RotaryEmbeddingParams, not NoneType; help"),  # type: ignore[arg-type]
    "angles of a text": (lambda: rope.build_rope_params("32", 32), TypeError, "'sequence_length' must be an int, not str; help: sequence_length=1"),  # type: ignore[arg-type]
    "a flag by its name": (lambda: matmul.matmul_op(drawn(1, 1, 2, 3), drawn(1, 1, 4, 3), "yes"), TypeError, "'transpose_a' must be a bool, not str; help: transpose_a=False"),  # type: ignore[arg-type]
    "an operation without operands": (lambda: matmul.linear(), TypeError, r"missing a required argument: 'tensor'; help: linear\(tensor, weight, bias=None\)"),  # type: ignore[call-arg]
    "no heads": (lambda: shapes.grouped_heads_creation(drawn(1, 1, 2, 4), drawn(1, 1, 2, 4), 0, 1), RuntimeError, "0 heads and 1 groups, at least 1 of each"),
    "steps by their name": (lambda: schedulers.StepScheduler(adam(), "x"), TypeError, "StepScheduler: step_size is a number, not 'x'; help: step_size=1"),  # type: ignore[arg-type]
    "no factor": (lambda: schedulers.LinearScheduler(adam(), None, 1.0, 3), TypeError, "start_factor is a number, not None; help: start_factor=0.1"),  # type: ignore[arg-type]
    "no schedules": (lambda: schedulers.SequentialScheduler(adam(), None, [3]), TypeError, "takes a list of schedulers, not None; help"),  # type: ignore[arg-type]
    "a milestone alone": (lambda: schedulers.SequentialScheduler(adam(), [schedulers.StepScheduler(adam(), 2)], 3), TypeError, "takes a list of milestones, not 3; help"),  # type: ignore[arg-type]
    "no batch": (lambda: sft_collate_fn(None, 8, 0), TypeError, "a batch is a list of examples, not NoneType; help"),  # type: ignore[arg-type]
    "padding below zero": (lambda: sft_collate_fn([{"input_ids": [1], "labels": [1]}], 8, -1), ValueError, "pad_token_id at least 0, not 8 and -1; help"),
    "a length by its name": (lambda: sft_collate_fn([{"input_ids": [1], "labels": [1]}], "x", 0), TypeError, "'max_seq_len' must be an int, not str; help: max_seq_len=1"),  # type: ignore[arg-type]
    "a seed by its name": (lambda: SFTConfig(seed="x"), TypeError, "'seed' must be int . None, got str; help: seed=None"),  # type: ignore[arg-type]
    "a rate that is not finite": (lambda: adam().set_lr(float("inf")), ValueError, r"a rate is finite, not inf; help: set_lr\(1e-3\)"),
    "steps below zero": (lambda: adam().set_steps(-1), TypeError, r"whole number, 0 or above, not -1; help: set_steps\(0\)"),
    "schedules of other optimizers": (
        lambda: schedulers.SequentialScheduler(adam(), [schedulers.StepScheduler(adam(), 1), schedulers.StepScheduler(adam(), 1)], [3]),
        ValueError, r"scheduler 0 sets the rate of another optimizer; help: StepScheduler\(optimizer",
    ),
    "a state of another schedule": (
        lambda: schedulers.StepScheduler(adam(), 1).set_state_dict(schedulers.CosineAnnealingScheduler(adam(), 3).get_state_dict()),
        ValueError, "StepScheduler: the saved state is of another schedule, it has m_T_max, m_eta_min; help",
    ),
    "a state of a row of schedules": (
        lambda: schedulers.LambdaScheduler(adam(), float).set_state_dict(row().get_state_dict()), ValueError, "LambdaScheduler: the saved state is of another schedule",
    ),
    "a share that is text": (lambda: schedulers.LambdaScheduler(adam(), lambda step: "a").step(), TypeError, r"lr_lambda\(1\) gave 'a', which is no number"),  # type: ignore[arg-type,return-value]
    "a probability beyond one": (lambda: DropoutLayer(1.5), RuntimeError, r"the probability is in \[0, 1\], not 1.5; help: 0.1"),
    "a probability by its name": (lambda: DropoutLayer("half"), TypeError, "'probability' must be a float, not str; help"),  # type: ignore[arg-type]
    "a list of modules that is called": (lambda: ModuleList([LinearLayer(2, 2)])(drawn(1, 1, 2, 2)), TypeError, r"ModuleList defines no forward\(\); help: for module in modules"),
    "a module beyond the last": (lambda: ModuleList([LinearLayer(2, 2)])[3], IndexError, "index 3 is out of range of 1 modules; help"),
    "a module that is not there": (lambda: ModuleDict({"up": LinearLayer(2, 2)})["down"], KeyError, "there is no module 'down'; help: one of 'up'"),
    "an attribute that is not there": (lambda: delattr(LinearLayer(2, 2), "wieght"), AttributeError, "LinearLayer has no attribute 'wieght'; help: one of bias, in_features"),
    "a tensor that cannot be overridden": (lambda: LinearLayer(2, 2).override_tensor(drawn(1, 1, 2, 2), "w"), RuntimeError, "no tensor named 'w' to override; .*help: register_tensor"),
    "a cut layer without an axis": (lambda: without_axes(), RuntimeError, r"ParallelismContext is not initialized. ColumnParallelLinear is cut .*help: .*enable_tp=True"),
    "text without lengths": (lambda: generate(LinearLayer(2, 2), [1]), TypeError, r"no max_new_tokens, sequence_length, vocab_size, .*help: generate\(model"),
    "a mode of weights": (lambda: initial.kaiming_uniform(mode="fan")((1, 1, 2, 2)), ValueError, r"Mode fan not supported.*help: mode='fan_in'"),
    "a runner that there is not": (lambda: RunnerType.from_string("memory"), ValueError, "RunnerType: 'memory' is not one of default, memory_efficient; help"),
    "a layout by its name": (lambda: Tensor.from_numpy(np.ones((2, 2), np.float32), "tile"), TypeError, "got 'tile'; help: layout=ttnn.TILE_LAYOUT"),  # type: ignore[arg-type]
    "a named argument of a function": (lambda: Text.apply(scale=2), TypeError, r"Text.apply\(\) takes arguments by their places, not scale; help: Text.apply\(2\)"),
    "positions that devices cannot share": (lambda: uneven_positions(), ValueError, "an input sequence length divisible by tp = 2, got 33; help: a multiple of 2"),
    "sides of a mesh below one": (lambda: Mesh((0, 4), ("a", "b")), ValueError, r"at least 1, got \(0, 4\); help: ttml.Mesh"),
    "gradients of a module": (lambda: sync_gradients(LinearLayer(2, 2)), TypeError, r"not .*LinearLayer; help: sync_gradients\(model.parameters\(\)\)"),  # type: ignore[arg-type]
    "an axis beyond the mesh": (lambda: shard_tensor_to_mesh_mapper(AutoContext.get_instance().get_device(), 0, 2), ValueError, r"the mesh \[1, 1\] has no axis 2; help: cluster_axis from 0 to 1"),
    "a type of gradient by its name": (lambda: distributed.all_gather(drawn(1, 1, 2, 2), 3, 1, "sharded"), TypeError, "must be a GradOutputType, not 'sharded'; help"),  # type: ignore[arg-type]
    "a style by its name": (lambda: parallelize_module(LinearLayer(2, 2), AutoContext.get_instance().get_device(), {"": "column"}), TypeError, "in a ParallelStyle, not 'column'; help: .*ColwiseParallel"),  # type: ignore[dict-item]
    "a plan of no layer": (lambda: parallelize_module(ModuleList([LinearLayer(2, 2)]), AutoContext.get_instance().get_device(), {"up": ColwiseParallel()}), ValueError, "'up' names no linear layer; help: one of 0"),
    "a configuration that is a dict": (lambda: create_qwen3_config_from_hf({"hidden_size": 32}, 32), TypeError, r"of transformers is wanted, not dict; help: AutoConfig.from_pretrained"),
    "a parameter of a parameter": (lambda: Parameter(Parameter(drawn(1, 1, 2, 2))), TypeError, r"help: Parameter\(parameter.tensor\)"),  # type: ignore[arg-type]
    "a class as an optimizer": (lambda: tuner(optimizer=adamw.AdamW), TypeError, "optimizer must be one, or its configuration"),
    "an optimizer of another model": (lambda: tuner(optimizer=adam()), ValueError, "updates no parameter of this model; help: make it of model.parameters"),
    "a parameter that is not there": (lambda: LinearLayer(2, 2).parameters()["LinearLayer/wieght"], KeyError, "there is no parameter 'LinearLayer/wieght'; help: LinearLayer/weight"),
    "a parameter of a joint layer": (
        lambda: DecoderLlama(LlamaConfig(hidden_size=32, num_attention_heads=2, num_key_value_heads=2, num_hidden_layers=1, vocab_size=32)).parameters()["Llama/blocks/0/mlp/w1/weight"],
        KeyError, "help: Llama/blocks/0/mlp/w_gate_up/weight",
    ),
    "a mask of half a position": (lambda: build_causal_mask(3.5), ValueError, r"a number of positions, at least 1, not 3.5; help: build_causal_mask\(32\)"),  # type: ignore[call-overload]
    "a mask of no position": (lambda: build_causal_mask(0), ValueError, "at least 1, not 0; help"),
    "a model as a configuration": (lambda: create_optimizer({"lr": 0.1}, LinearLayer(2, 2)), TypeError, r"the configuration is a map, not .*LinearLayer; help: create_optimizer\(model, "),  # type: ignore[arg-type]
    "a summary of nothing": (lambda: summary(None), TypeError, r"a module of ttml is wanted, not NoneType; help: summary\(model\)"),  # type: ignore[arg-type]
    "a schedule without a state": (lambda: schedulers.StepScheduler(adam(), 1).set_state_dict(None), TypeError, r"a state is what get_state_dict\(\) gave, not NoneType; help"),  # type: ignore[arg-type]
    "a draw from a seed below zero": (lambda: sample.sample_op(drawn(1, 1, 1, 8), 1.0, -1), RuntimeError, "the seed cannot be negative, got -1; help: 42"),
    "one name for both axes": (lambda: Mesh((1, 1), ("a", "a")), ValueError, "an assigned name of its own"),
    "no mesh to lay over": (lambda: shard_tensor_to_mesh_mapper(None, 0), TypeError, r"'device' must be an open mesh, not NoneType; help: device=.*get_device\(\)"),  # type: ignore[arg-type]
    "no mesh to copy over": (lambda: core.replicate_tensor_to_mesh_mapper(None), TypeError, "'device' must be an open mesh"),  # type: ignore[arg-type]
    "a dimension by its name": (lambda: core.concat_mesh_to_tensor_composer(AutoContext.get_instance().get_device(), "x"), TypeError, "'dim' must be an int, not str; help: dim=1"),  # type: ignore[arg-type]
    "devices by their name": (lambda: core.enable_fabric("all"), TypeError, "'num_devices' must be an int, not str; help"),  # type: ignore[arg-type]
    "dimensions by their name": (lambda: core.create_mesh_composer_config("x"), TypeError, "'dims' must be a sequence of ints, not str"),  # type: ignore[arg-type]
    "placements of nothing": (lambda: core.set_tensor_placements(None, []), TypeError, "'tensor' must be a ttml.autograd.Tensor, not NoneType"),  # type: ignore[arg-type]
    "no gradients": (lambda: core.synchronize_gradients(None), TypeError, "'parameters' must be a map, not NoneType"),  # type: ignore[arg-type]
    "a sum of a text": (lambda: core.all_reduce("x"), TypeError, r"'tensor' must be a ttnn.Tensor, not str; help: .*get_value\(\)"),  # type: ignore[arg-type]
    "half a cache": (lambda: KvCache(1, 1), TypeError, r"KvCache takes a KvCacheConfig or its sizes, not \(1, 1\); help: KvCache\(num_layers, batch_size"),
    "a cache of text": (lambda: KvCache(KvCacheConfig("a", 1, 1, 1, 32)), TypeError, "KvCache: num_layers is a whole number, not 'a'; help"),  # type: ignore[arg-type]
    "tiles of text": (lambda: utils.round_up_to_tile("a"), TypeError, "'value' must be an int, not str; help: value=1"),  # type: ignore[arg-type]
    "tiles of nothing": (lambda: utils.round_up_to_tile(3, 0), ValueError, "a tile of 0 has no multiples; help: tile=32"),
    "a mesh of a text": (lambda: utils.build_mesh("x"), TypeError, "'device_config' must be a DeviceConfig, not str"),  # type: ignore[arg-type]
    "a seed of everything that is text": (lambda: utils.set_seed("x"), TypeError, "'seed' must be an int, not str; help: seed=42"),  # type: ignore[arg-type]
    "parameters of nothing": (lambda: utils.parameter_count(None), TypeError, "'model' must be a module of ttml, not NoneType"),  # type: ignore[arg-type]
    "a loss that is a number": (lambda: utils.get_loss_over_devices(3), TypeError, "'loss' must be a ttml.autograd.Tensor, not int"),  # type: ignore[arg-type]
    "a vocabulary that is text": (lambda: utils.build_logits_mask("a", 32), TypeError, "'vocab_size' must be an int"),  # type: ignore[arg-type]
    "a mode without a model": (lambda: utils.run_mode("x"), TypeError, r"missing a required argument: 'mode'; help: run_mode\(model, mode\)"),  # type: ignore[call-arg,arg-type]
    "a shape to fill that is text": (lambda: utils.resolve_padded_load_shape("x", [1]), TypeError, "'src_shape' must be a sequence of ints"),  # type: ignore[arg-type]
    "a peak of a phase": (lambda: MemoryUsageTracker.get_dram_peak("x"), TypeError, r"too many positional arguments; help: MemoryUsageTracker.get_dram_peak\(\)"),  # type: ignore[call-arg]
    "windows of text": (lambda: get_batch(np.arange(9, dtype=np.uint32), "a", 2), TypeError, "'seq_len' must be an int, not str"),  # type: ignore[arg-type]
    "no ids": (lambda: CharTokenizer("ab").decode(None), TypeError, "'ids' must be a sequence of ints, not NoneType"),  # type: ignore[arg-type]
    "no text": (lambda: CharTokenizer("ab").encode(None), TypeError, "CharTokenizer.encode.*'text' must be a str, not NoneType"),  # type: ignore[arg-type]
    "a text of a number": (lambda: load_shakespeare_text(3), TypeError, "data_path names a file, not int; help: data_path="),  # type: ignore[arg-type]
    "a pad to a text": (lambda: sft_collate_fn([{"input_ids": [1], "labels": [1]}], 2, 0, None, "x"), TypeError, "'pad_to' must be an int"),  # type: ignore[arg-type]
    "ids below zero": (lambda: sft_collate_fn([{"input_ids": [-1], "labels": [1]}], 2, 0), ValueError, "example 0: input_ids are numbers of tokens, not -1; help"),
    "labels below zero": (lambda: sft_collate_fn([{"input_ids": [1], "labels": [-7]}], 2, 0), ValueError, "labels are numbers of tokens, or -100 where none counts, not -7"),
    "a layout of nothing": (lambda: layouts.get_layout("x"), TypeError, "'tensor' must be a ttml.autograd.Tensor"),  # type: ignore[arg-type]
    "a layout that is text": (lambda: layouts.set_layout(drawn(1, 1, 2, 2), "x"), TypeError, "'layout' must be a Layout, not str"),  # type: ignore[arg-type]
    "nothing to distribute": (lambda: layouts.distribute_tensor(None, None, None), TypeError, "'tensor' must be a ttml.autograd.Tensor, not NoneType"),  # type: ignore[arg-type]
    "a target that is text": (lambda: calls.redistribute(drawn(1, 1, 2, 2), "x"), TypeError, "'target' must be a Layout"),  # type: ignore[arg-type]
    "a number as an operation": (lambda: calls.register_op("x", 3), TypeError, "an operation is a function, not int; help: register_op"),  # type: ignore[arg-type]
    "positions of nothing": (lambda: tensor_parallel.is_sequence_parallel(None), TypeError, "'parameter' must be a ttml.autograd.Tensor"),  # type: ignore[arg-type]
    "kinds of parallelism by a name": (lambda: ParallelismContext("x", (1, 2)), TypeError, r"config is a DistributedConfig, not str; help: .*enable_tp=True"),  # type: ignore[arg-type]
    "rewards that are text": (lambda: dispatch_reward(lambda completions: ["x"], ["a"], ["b"], {}), ValueError, "are no numbers; help: return one number for each"),  # type: ignore[list-item]
    "a number as a reward": (lambda: dispatch_reward(3, [], [], {}), TypeError, "a reward is a function, not int; help: def reward"),  # type: ignore[arg-type]
    "groups of none": (lambda: advantages_of(np.ones(2), 0), ValueError, "2 rewards are no whole number of groups of 0; help"),
    "a version that is none": (lambda: check_new_weight_version(1, None), TypeError, "'version' must be an int, not NoneType"),  # type: ignore[arg-type]
    "no settings of GRPO": (lambda: get_grpo_config(None), TypeError, "'yaml_config' must be a map, not NoneType"),  # type: ignore[arg-type]
    "a source that there is not": (lambda: GRPOConfig(rollout_source="x"), ValueError, "must be one of ttml, ttt, got 'x'; help: rollout_source='ttml'"),
    "a sampler of nothing": (lambda: TTMLRolloutSampler(), TypeError, r"missing a required argument: 'model'; help: TTMLRolloutSampler\(model, tokenizer"),  # type: ignore[call-overload]
    "no model to adapt": (lambda: LoraModel(None, LoraConfig(rank=2, target_modules=["a"])), TypeError, "'model' must be a module of ttml, not NoneType"),  # type: ignore[arg-type]
    "a GPT of nothing": (lambda: create_nanogpt(None), TypeError, r"'config' must be a NanoGPTConfig, not NoneType; help: config=NanoGPTConfig\(…\)"),  # type: ignore[arg-type]
    "a Qwen3 of nothing": (lambda: Qwen3(None), TypeError, "'config' must be a Qwen3Config, not NoneType; help"),  # type: ignore[arg-type]
    "a BERT of nothing": (lambda: Bert(None), TypeError, "'config' must be a BertConfig, not NoneType; help"),  # type: ignore[arg-type]
    "a Llama of a map": (lambda: Llama({"vocab_size": 32}), TypeError, "a LlamaConfig is wanted, not dict; help: Llama"),
    "a Wan of nothing": (lambda: WanTransformer3D(None), TypeError, "'config' must be a WanConfig"),  # type: ignore[arg-type]
}  # fmt: skip


@pytest.mark.parametrize(
    ("parameters", "kind", "words"),
    [
        (dict, "AdamW", r"given no parameters; help: AdamW\(model.parameters\(\), config\)"),
        (dict, "SGD", "given no parameters"),
        (lambda: frozen(LinearLayer(2, 2)), "AdamW", "none of its 2 parameters takes gradients; help: tensor.set_requires"),
        (lambda: frozen(LinearLayer(2, 2)), "MuonWithAdamW", "none of its 2 parameters takes gradients"),
    ],
)  # fmt: skip
def test_an_optimizer_that_changes_nothing_says_so(
    opened: Any, parameters: Any, kind: str, words: str
) -> None:
    opened()
    with pytest.warns(UserWarning, match=f"{kind} has nothing to train: .*{words}") as told:
        registry.create_optimizer({"type": kind}, parameters())
    assert [each.filename for each in told] == [__file__]


def frozen(model: LinearLayer) -> dict[str, Tensor]:
    for tensor in model.parameters().values():
        tensor.set_requires_grad(False)
    return model.parameters()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [((), "StepScheduler(optimizer, step_size, gamma=0.1)"), ((1, 2, 3, 4), "StepScheduler(optimizer, step_size, gamma=0.1)")],
)  # fmt: skip
def test_a_call_that_lacks_arguments_is_told_how_it_goes(arguments: tuple[Any, ...], words: str) -> None:
    make = schedulers.StepScheduler.__init__
    with pytest.raises(TypeError) as told:
        schedulers.StepScheduler(*arguments)
    assert (
        _argument_help(getattr(make, "__wrapped__", make), arguments, {}, str(told.value)) == f"help: {words}"
    )
    assert _argument_help(make, arguments, {}, "step() missing 1 required positional argument") == ""


@pytest.mark.skipif(not hasattr(Exception, "add_note"), reason="notes came with Python 3.11")
@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("ttml.optimizers.AdamWConfig.make(weigth_decay=1)", "help: 'weigth_decay': did you mean 'weight_decay'?"),
        ("ttml.checkpointing.save_checkpoint('a', {})", "help: after 'path' arguments are named: header=…, model_params=…"),
        ("ttml.datasets.sft_collate_fn([])", "help: sft_collate_fn(examples, max_seq_len, pad_token_id, mapper=None, pad_to=None)"),
    ],
)  # fmt: skip
def test_a_function_teaches_how_it_is_called(call: str, words: str) -> None:
    program = f"import ttml\n{call}"
    ran = subprocess.run([sys.executable, "-m", "tt_run.emulate", "-c", program], capture_output=True, text=True, timeout=60, check=False)  # fmt: skip
    assert ran.returncode == 1 and words in ran.stderr, ran.stderr


def test_a_function_that_teaches_is_found_by_its_published_name_and_its_home_keeps_the_plain_one() -> None:
    program = """
import inspect, pickle, ttml
from tt_run.runtime.train import checkpointing as home
plain, given = home.save_checkpoint, ttml.checkpointing.save_checkpoint
assert home.save_checkpoint is plain is not given
from ttml.trainers.grpo_trainer import save_checkpoint
assert inspect.signature(given) == inspect.signature(plain)
assert b"ttml.checkpointing" in pickle.dumps(given)
for function in (given, plain, save_checkpoint, ttml.datasets.sft_collate_fn):
    assert pickle.loads(pickle.dumps(function)) is function
"""
    ran = subprocess.run([sys.executable, "-m", "tt_run.emulate", "-c", program], capture_output=True, text=True, timeout=60, check=False)  # fmt: skip
    assert ran.returncode == 0, ran.stderr


def test_a_quotient_by_a_number_is_rounded_once(opened: Any) -> None:
    """As PyTorch divides, not by the number's reciprocal; by 0 it is infinite."""
    opened()
    x = drawn(1, 1, 8, 8)
    np.testing.assert_array_equal((x / 3).to_numpy(), x.to_numpy() / np.float32(3))
    assert np.isinf((x / 0).to_numpy()).all()


def test_no_scaling_is_the_one_that_changes_nothing() -> None:
    """None, as Hugging Face's configurations have it."""
    assert LlamaConfig(rope_scaling=None) == LlamaConfig()  # type: ignore[arg-type]


def test_an_epsilon_of_nothing_is_taken() -> None:
    assert adamw.AdamWConfig.make(epsilon=0.0).epsilon == 0.0


def test_a_lazy_model_that_is_saved_without_its_parameters_is_told(opened: Any, tmp_path: Path) -> None:
    opened()
    with lazy_init():
        model = LinearLayer(4, 4)
    with pytest.warns(
        UserWarning, match=r"model_params holds no parameter, .*help: ttml.materialize_module\(model\)"
    ) as told:
        save_checkpoint(str(tmp_path / "w.pkl"), model_params=model.parameters())
    assert [each.filename for each in told] == [__file__]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told(opened: Any, mistake: str) -> None:
    opened()
    made, kind, message = MISTAKES[mistake]
    with pytest.raises(kind, match=message) as told:
        made()
    assert "help:" in str(told.value)


def test_files_that_are_not_there_or_not_what_they_should_be(opened: Any, tmp_path: Path) -> None:
    """Each is told with its name, what it was for and what helps."""
    opened()
    (tmp_path / "step_10.pkl").write_bytes(b"")
    (tmp_path / "text").write_bytes(b"one\ntwo\n\xff")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "torn.npz").write_bytes(b"PK\x03\x04torn")
    (tmp_path / "words.json").write_text("{}")

    def prepared(name: str, **more: Any) -> Any:
        return prepare_data(TrainingConfig({"training_config": {"data_path": str(tmp_path / name), **more}}))

    def tokens(name: str) -> Any:
        return BytePairTokenizer(tmp_path / name)

    weights = {"w": drawn(1, 1, 4, 4)}
    mistakes: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: load_checkpoint(str(tmp_path / "step_11.pkl")), FileNotFoundError, "checkpoint .*step_11.pkl: no such file .*did you mean .*step_10.pkl"),
        (lambda: load_checkpoint(str(tmp_path)), IsADirectoryError, "is a directory"),
        (lambda: save_checkpoint(str(tmp_path / "no" / "w.pkl"), model_params=weights), FileNotFoundError, "there is no folder .*/no$"),
        (lambda: checkpoints.load(tmp_path / "no.npz"), FileNotFoundError, "checkpoint .*no.npz: no such file"),
        (lambda: checkpoints.load(tmp_path / "torn.npz"), ValueError, "torn.npz is not a checkpoint of this program"),
        (lambda: checkpoints.load(tmp_path / "empty"), ValueError, "empty is not a checkpoint of this program"),
        (lambda: checkpoints.save(tmp_path / "text" / "step_1", step=1, model=LinearLayer(2, 2), optimizer=adam(), facts={}), FileExistsError, "/text is a file, name a folder"),
        (lambda: prepared("texx"), FileNotFoundError, "data_path .*texx: no such file .*did you mean .*/text"),
        (lambda: prepared("text"), ValueError, "text:3: byte 8 is no UTF-8 text"),
        (lambda: prepared("empty"), ValueError, "empty: the file is empty"),
        (lambda: tokens("no.json"), FileNotFoundError, "tokenizer_path .*no.json: no such file"),
        (lambda: tokens("words.json"), ValueError, "words.json is no tokenizer.json"),
        (lambda: load_config(tmp_path), FileNotFoundError, "is a folder; help: one of its files"),
    ]  # fmt: skip
    for made, kind, message in mistakes:
        if "tokenizer" in message and importlib.util.find_spec("tokenizers") is None:
            continue
        with pytest.raises(kind, match=message):
            made()


def test_a_checkpoint_of_another_optimizer_changes_nothing(opened: Any, tmp_path: Path) -> None:
    opened()
    parameters = {"w": drawn(1, 1, 4, 4)}
    file = str(tmp_path / "made.pkl")
    save_checkpoint(file, model_params={"w": Tensor.from_numpy(np.ones((1, 1, 4, 4), np.float32))}, optimizer=adam())  # fmt: skip
    other = sgd.SGD(parameters, sgd.SGDConfig.make(lr=0.1))
    with pytest.raises(
        ValueError, match=r"made.pkl: the optimizer's state has beta1, .* that of SGD has not"
    ):
        load_checkpoint(file, model_params=parameters, optimizer=other)
    assert not np.any(parameters["w"].to_numpy() == 1)
