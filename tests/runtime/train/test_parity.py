"""What computes has a comparison with PyTorch: every module, model, optimizer, schedule and operation that `ttml` publishes.

A new one fails here until a test that needs PyTorch names it.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.e2e.launch import ROOT
from tests.runtime.train.pytorch import torch_or_skip
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.modules.base import ModuleBase
from tt_run.runtime.train.ops import packed, pieces, unary
from tt_run.runtime.train.optimizers.base import OptimizerBase
from tt_run.runtime.train.optimizers.schedulers import SchedulerBase

pytest.importorskip("torch", reason="PyTorch is not installed: pip install torch")

SHIMS, TESTS = ROOT / "tt_run" / "shims" / "ttml", ROOT / "tests" / "runtime" / "train"
ROOMS = ("modules", "models", "optimizers", "schedulers", "common/schedulers.py", "ops")
WITHIN = {
    "BertBlock": "BertConfig",
    "Bert": "BertConfig",
    "DeepSeekBlock": "DeepSeek",
    "MoE": "DeepSeek",
    "Expert": "DeepSeek",
    "Qwen3Model": "Qwen3",
    "Qwen3Attention": "Qwen3",
    "Qwen3DecoderLayer": "Qwen3",
    "Qwen3RMSNorm": "Qwen3",
    **dict.fromkeys(("Qwen38Block", "Qwen38GatedAttention", "Qwen38GatedDeltaNet", "Qwen38MLP", "Qwen38RMSNorm"), "Qwen38Transformer"),
    **dict.fromkeys(("WanAttention", "WanConditioning", "WanFeedForward", "WanLayerNorm", "WanRMSNorm", "WanTransformerBlock", "ProjectionMLP"), "WanTransformer3D"),
    "LlamaBlock": "Llama",
    "MultiLayerPerceptron": "create_mlp_model",
    "gen_freqs": "build_rope_params",
    "gated_rmsnorm_fw": "gated_rmsnorm",
    "gated_rmsnorm_bw": "gated_rmsnorm",
    "linear_backward": "linear",
    **dict.fromkeys(("NanoGPT", "GPTBlock", "GPTMLP", "LayerNorm", "MultiHeadAttention", "PositionalEmbedding", "TrainablePositionalEmbedding"), "create_nanogpt"),
}  # fmt: skip
"""Parts, and the whole that is compared with PyTorch with all its gradients."""
AGAINST = {
    "PipelineParallelLlama": "programs/forms.py",
    "FeatureParallelEmbedding": "test_tensor_parallel.py",
    "ring_attention_sdpa": "test_tensor_parallel.py",
    "sp_column_parallel_linear": "test_tensor_parallel.py",
    "sp_row_parallel_linear": "test_tensor_parallel.py",
    **dict.fromkeys(("SparseMoE", "SparseMoEEP", "SparseMoETP", "moe_group_op", "moe_ungroup_op", "moe_ffn_swiglu_fw"), "test_experts.py"),
}  # fmt: skip
"""What is held against something of `ttml` that is compared, and the test that does it."""
NO_NUMBERS = {
    *("get_sp_linear_impl", "set_sp_linear_impl", "validate_rope_input_and_params"),
    *(
        "get_sp_linear_backward_impl",
        "set_sp_linear_backward_impl",
        "get_sp_overlap",
        "set_sp_overlap",
        "sp_overlap_stats",
    ),
    *("NoOp", "RemoteOptimizer", "BaseTransformer"),
    *("rand", "rand_", "randn", "sample_op"),
    *("moe_group", "moe_ungroup"),  # what `moe_group_op` and `moe_ungroup_op` call
    *("swiglu_packed_fw", "swiglu_packed_bw"),  # what `swiglu_packed` computes, as `test_packed.py` shows
}
"""What checks, sends, draws at random, or is called by what is compared."""
SHAPE = (2, 1, 3, 64)


def tables() -> list[tuple[str, str]]:
    """Module and name of all that the rooms publish."""
    found = set()
    for room in ROOMS:
        path = SHIMS / room
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            for node in ast.parse(file.read_text()).body:
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "_TABLE":  # fmt: skip
                    for module, names in ast.literal_eval(node.value).items():
                        found |= {(module, word.rpartition("=")[2]) for word in names.split()}
    return sorted(found)


def computes(module: str, name: str) -> bool:
    thing = getattr(importlib.import_module(module), name)
    if inspect.isclass(thing):
        return issubclass(thing, (ModuleBase, OptimizerBase, SchedulerBase)) and not inspect.isabstract(thing)
    operation = module.startswith("tt_run.runtime.train.ops.")
    return callable(thing) and (operation or module.endswith("optimizers.schedulers"))


@cache
def compared() -> frozenset[str]:
    """Every word that a test file which needs PyTorch has, as a name or in a text."""
    words: set[str] = set()
    for file in TESTS.rglob("test_*.py"):
        text = file.read_text()
        if "torch_or_skip" not in text:
            continue
        if file == Path(__file__):
            words |= {*OPERATIONS}
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.Name, ast.Attribute)):
                words.add(node.id if isinstance(node, ast.Name) else node.attr)
            elif isinstance(node, ast.alias):
                words.add(node.name)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                words |= {*node.value.replace(".", " ").split()}
    return frozenset(words)


COMPUTING = [entry for entry in tables() if computes(*entry) and entry[1] not in NO_NUMBERS]


def test_there_is_much_to_compare() -> None:
    assert len(COMPUTING) > 100
    names = {name for _, name in tables()}
    assert {*WITHIN} | {*AGAINST} | NO_NUMBERS <= names


@pytest.mark.parametrize("name", sorted({name for _, name in COMPUTING}))
def test_it_is_compared_with_pytorch(name: str) -> None:
    if name in AGAINST:
        assert name in (TESTS / AGAINST[name]).read_text() or name.startswith(("sp_", "Pipeline"))
    else:
        assert WITHIN.get(name, name) in compared(), f"no test with PyTorch names {name}"


OPERATIONS: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Any, Any], Any]]] = {
    "swiglu_packed": (packed.swiglu_packed, lambda torch, x: torch.nn.functional.silu(x[..., :32]) * x[..., 32:]),
    "split_heads": (lambda x: pieces.split_heads(x, 4), lambda torch, x: x[:, 0].unflatten(-1, (4, 16)).transpose(1, 2)),
    "broadcast_batch": (
        lambda x: unary.broadcast_batch(pieces.cut(x, (0, 0, 0, 0), (1, 1, 3, 64)), 5),
        lambda torch, x: x[:1].expand(5, 1, 3, 64),
    ),
    "qkv_assemble_fw": (  # queries of two heads of 4 + 4, keys of the same, values of 8
        lambda x: pieces.concat(list(packed.qkv_assemble_fw(*pieces.split(x, (16, 24, 4, 20), 3)[:3], 2, 4, 4, 8)), 3),
        lambda torch, x: latent(torch, *x.split((16, 24, 4, 20), -1)[:3]),
    ),
}  # fmt: skip


def latent(torch: Any, query: Any, joint: Any, shared: Any) -> Any:
    """[query | key | value] of latent attention for two heads."""
    query, joint = (part[:, 0].unflatten(-1, (2, -1)).transpose(1, 2) for part in (query, joint))
    return torch.cat([query, joint[..., :4], shared.expand(-1, 2, -1, -1), joint[..., 4:]], -1)


@pytest.mark.torch
@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_that_move_or_gate(opened: Any, name: str) -> None:
    """Values, and the gradient of a loss whose weights differ at every element."""
    torch = torch_or_skip()
    opened()
    ours, theirs = OPERATIONS[name]
    draw = np.random.default_rng(0)
    x = draw.standard_normal(SHAPE).astype(np.float32)
    one, other = Tensor.from_numpy(x), torch.tensor(x, requires_grad=True)
    out, expected = ours(one), theirs(torch, other)
    np.testing.assert_allclose(out.to_numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6)
    weight = draw.standard_normal(out.shape()).astype(np.float32)
    out.set_grad(Tensor.from_numpy(weight).get_value())
    out.backward()
    expected.backward(torch.tensor(weight))
    np.testing.assert_allclose(one.get_grad().to_numpy(), other.grad.numpy(), rtol=1e-4, atol=1e-6)
