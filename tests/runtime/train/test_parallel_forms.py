"""Every parallel form, and each pair of them, against one device: a Llama's loss and its parameters after three steps of SGD.

SGD, because an adaptive optimizer would hide a gradient that is a whole number of times too large.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.runtime.train.test_building import opened_mesh  # noqa: F401 - the fixture
from tests.sweep import sweep, thinned
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.tensor.distribution.configs import MeshMapperConfig
from tt_run.runtime.tensor.distribution.mappers import create_mesh_mapper
from tt_run.runtime.tensor.spec.topology import PlacementReplicate, PlacementShard
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.tensor import Tensor, zeros_like
from tt_run.runtime.train.checkpointing import load_checkpoint, save_checkpoint
from tt_run.runtime.train.common.factory import TransformerModelFactory
from tt_run.runtime.train.common.generate import Sampling, generate
from tt_run.runtime.train.common.trainer import Placing, Trainer
from tt_run.runtime.train.common.utils import get_loss_over_devices, initialize_device
from tt_run.runtime.train.models.decoders.llama import DecoderLlama
from tt_run.runtime.train.models.decoders.llama_config import LlamaConfig
from tt_run.runtime.train.models.runner import (
    RunnerType,
    WeightTyingType,
    memory_efficient_runner,
)
from tt_run.runtime.train.modules.linear import LinearLayer
from tt_run.runtime.train.modules.lora import LoraConfig, LoraModel
from tt_run.runtime.train.ops.loss import cross_entropy_loss
from tt_run.runtime.train.optimizers.clipping import clip_grad_norm
from tt_run.runtime.train.optimizers.sgd import SGD, SGDConfig
from tt_run.runtime.train.parallel import fsdp
from tt_run.runtime.train.parallel.distributed import shard_tensor_to_mesh_mapper
from tt_run.runtime.train.parallel.named_mesh import sync_gradients
from tt_run.runtime.train.parallel.sharded_parameters import whole_parameter
from tt_run.runtime.train.parallel.tensor_parallel import EmbeddingPlacement
from tt_run.runtime.train.trainers.completion import ModelCompleter
from tt_run.runtime.train.trainers.continuation import last_logits
from tt_run.runtime.train.trainers.grpo import GRPOTrainer
from tt_run.runtime.train.trainers.grpo_config import GRPOConfig

# Name -> mesh shape, names of its axes, whether positions are cut over the tensor-parallel one.
FORMS: dict[str, tuple[tuple[int, int], tuple[str, str], bool]] = {
    "dp": ((1, 4), ("_", "dp"), False),
    "tp": ((1, 4), ("_", "tp"), False),
    "sp": ((1, 4), ("_", "tp"), True),
    "fsdp": ((1, 4), ("_", "fsdp"), False),
    "cp": ((1, 4), ("_", "cp"), False),
    "dp x cp": ((2, 2), ("dp", "cp"), False),
    "cp x tp": ((2, 2), ("cp", "tp"), False),
    "cp x sp": ((2, 2), ("cp", "tp"), True),
    "fsdp x cp": ((2, 2), ("fsdp", "cp"), False),
    "dp x tp": ((2, 2), ("dp", "tp"), False),
    "dp x sp": ((2, 2), ("dp", "tp"), True),
    "dp x fsdp": ((2, 2), ("dp", "fsdp"), False),
    "fsdp x tp": ((2, 2), ("fsdp", "tp"), False),
    "fsdp x sp": ((2, 2), ("fsdp", "tp"), True),
}
SIZES: dict[str, Any] = {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 4, "num_hidden_layers": 2, "vocab_size": 128, "attention_bias": True}  # fmt: skip


def places(device: Any, axes: tuple[str, str], data: list[int]) -> Callable[[int], Any]:
    """What lays ids of a rank: sequences over the axes of data, positions over that of context parallelism."""
    if "cp" not in axes:
        cut = shard_tensor_to_mesh_mapper(device, 0, None if len(data) > 1 else data[0]) if data else None
        return lambda rank: cut

    def mapper(rank: int) -> Any:
        kinds = {"dp": PlacementShard(0), "fsdp": PlacementShard(0), "cp": PlacementShard(rank - 1)}
        return create_mesh_mapper(
            device, MeshMapperConfig([kinds.get(name, PlacementReplicate()) for name in axes])
        )

    return mapper


def train(
    context: Any,
    axes: tuple[str, str],
    sequence: bool,
    runner: RunnerType,
    steps: range = range(3),
    load: Path | None = None,
    save: Path | None = None,
    adapted: bool | str = False,
    masked: bool = True,
    **sizes: Any,
) -> tuple[list[float], dict[str, np.ndarray]]:
    model: Any = DecoderLlama(
        LlamaConfig(**SIZES, use_tp="tp" in axes, sequence_parallel=sequence, runner_type=runner, **sizes)
    )
    blocks = model.blocks
    head = ["^fc"] if adapted == "with the head" else []
    config = LoraConfig(rank=4, target_modules=["qkv_linear", "out_linear", "w_gate_up", "w2", *head])
    if adapted in (True, "with the head"):
        model = LoraModel(model, config)
    if "fsdp" in axes:
        for block in blocks:
            fsdp.fully_shard(block)
        fsdp.fully_shard(model)
    if adapted == "when cut":
        model = LoraModel(model, config)
    data = [axis for axis, name in enumerate(axes) if name in ("dp", "fsdp")]
    device = context.get_device()
    mapper = places(device, axes, data)
    mask = Tensor.from_numpy(np.tril(np.ones((1, 1, 32, 32), np.float32))) if masked else None
    optimizer, losses = SGD(model.parameters(), SGDConfig.make(lr=0.5, momentum=0.9)), []
    if load is not None:
        for tensor in model.parameters().values():
            tensor.set_value(zeros_like(tensor.get_value()))
        load_checkpoint(str(load), model_params=model.parameters(), optimizer=optimizer)
    for step in steps:
        draw = np.random.default_rng(step).integers(0, 128, (4, 33), np.uint32)
        x, y = (np.ascontiguousarray(a) for a in (draw[:, :-1].reshape(4, 1, 1, 32), draw[:, 1:]))
        ids, targets = (
            Tensor.from_numpy(a, Layout.ROW_MAJOR, DataType.UINT32, mapper(a.ndim)) for a in (x, y)
        )
        optimizer.zero_grad()
        loss = cross_entropy_loss(model(ids, mask), targets)
        losses.append(get_loss_over_devices(loss))
        loss.backward()
        context.reset_graph()
        sync_gradients(model.parameters(), ("dp", "fsdp", "cp"))
        clip_grad_norm(model.parameters(), 1.0)
        optimizer.step()
    if save is not None:
        save_checkpoint(str(save), model_params=model.parameters(), optimizer=optimizer)
    return losses, {name: whole_parameter(tensor) for name, tensor in model.parameters().items()}


# What a form goes together with: a head tied to a table that lies so or so, adapters, attention that is causal by itself.
TIED: dict[str, Any] = {"weight_tying": WeightTyingType.Enabled}
TOGETHER: list[Any] = [
    pytest.param("fsdp", TIED, marks=pytest.mark.wide),
    pytest.param("tp", TIED, marks=pytest.mark.wide),
    ("tp", {**TIED, "embedding_placement": EmbeddingPlacement.VocabParallel}),
    pytest.param(
        "dp x tp", {**TIED, "embedding_placement": EmbeddingPlacement.FeatureParallel}, marks=pytest.mark.wide
    ),
    pytest.param("sp", TIED, marks=pytest.mark.wide),
    pytest.param(
        "dp x sp", {**TIED, "embedding_placement": EmbeddingPlacement.VocabParallel}, marks=pytest.mark.wide
    ),
    ("fsdp x sp", {**TIED, "embedding_placement": EmbeddingPlacement.FeatureParallel}),
    pytest.param("cp x tp", TIED, marks=pytest.mark.wide),
    pytest.param("fsdp", {"adapted": True}, marks=pytest.mark.wide),
    pytest.param("fsdp x tp", {"adapted": True}, marks=pytest.mark.wide),
    pytest.param("fsdp x sp", {"adapted": True}, marks=pytest.mark.wide),
    pytest.param("fsdp", {"adapted": "when cut"}, marks=pytest.mark.wide),
    pytest.param("fsdp x tp", {"adapted": "when cut"}, marks=pytest.mark.wide),
    ("fsdp x sp", {"adapted": "when cut"}),
    ("sp", {"adapted": "with the head"}),
    pytest.param("fsdp x sp", {"adapted": "with the head"}, marks=pytest.mark.wide),
    pytest.param("cp", {"masked": False}, marks=pytest.mark.wide),
    ("fsdp x cp", {"masked": False}),
]


@pytest.mark.filterwarnings("ignore:fully_shard")
@pytest.mark.parametrize(
    ("form", "what"), TOGETHER, ids=lambda what: what if isinstance(what, str) else "-".join(what)
)
def test_what_goes_together_with_a_form(opened_mesh: Any, form: str, what: dict[str, Any]) -> None:  # noqa: F811
    alone = {name: value for name, value in what.items() if name != "embedding_placement"}
    losses, expected = train(
        opened_mesh((1, 1), ("_", "__")), ("_", "__"), False, RunnerType.Default, **alone
    )
    shape, axes, sequence = FORMS[form]
    found, parameters = train(opened_mesh(shape, axes), axes, sequence, RunnerType.Default, **what)
    np.testing.assert_allclose(found, losses, rtol=2e-5)
    assert sorted(parameters) == sorted(expected)
    for name, array in expected.items():
        np.testing.assert_allclose(parameters[name], array, atol=2e-5, err_msg=name)


@pytest.mark.parametrize(
    "form",
    [pytest.param("one", marks=pytest.mark.wide), "sp", pytest.param("dp x fsdp", marks=pytest.mark.slow)],
)
def test_blocks_that_are_recomputed_train_adapters_behind_a_frozen_table(opened_mesh: Any, form: str) -> None:  # noqa: F811
    """What comes into the first block wants no gradient, what is trained is within: the same bits as with all activations kept."""
    shape, axes, sequence = FORMS.get(form, ((1, 1), ("_", "__"), False))

    def run(runner: RunnerType) -> tuple[list[float], dict[str, bytes]]:
        losses, found = train(opened_mesh(shape, axes), axes, sequence, runner, adapted=True)
        return losses, {name: array.tobytes() for name, array in found.items()}

    losses, parameters = run(RunnerType.Default)
    assert losses[0] != losses[1] and run(RunnerType.MemoryEfficient) == (losses, parameters)


def test_a_block_with_nothing_to_train_is_not_recomputed(opened_mesh: Any) -> None:  # noqa: F811
    opened_mesh((1, 1), ("_", "__"))
    layer, runs = LinearLayer(4, 4), []

    def block(x: Tensor) -> Tensor:
        runs.append(1)
        return layer(x)

    for trained in (True, False):
        for tensor in layer.parameters().values():
            tensor.set_requires_grad(trained)
        x = Tensor.from_numpy(np.ones((1, 1, 2, 4), np.float32))
        x.set_requires_grad(False)
        out = memory_efficient_runner(block, x)
        assert out.get_requires_grad() is trained and runs.pop() and not runs
        if trained:
            out.backward()
            assert runs.pop() and not x.is_grad_initialized() and layer.get_weight().is_grad_initialized()


RECOMPUTED_TOO = ("sp", "fsdp", "fsdp x tp")
TWO_KINDS = ("dp x cp", "cp x tp", "fsdp x cp", "dp x tp")  # other pairs of the same kinds are quick
RUNS = [
    pytest.param(
        form,
        runner,
        marks=pytest.mark.slow
        if runner is not RunnerType.Default and form not in RECOMPUTED_TOO
        else ()
        if (runner is RunnerType.Default) == (form not in RECOMPUTED_TOO) and form not in TWO_KINDS
        else pytest.mark.wide,
    )
    for form in FORMS
    for runner in (RunnerType.Default, RunnerType.MemoryEfficient)
]


@pytest.mark.filterwarnings("ignore:fully_shard")  # a bias that is cut already stays whole
@pytest.mark.parametrize(("form", "runner"), thinned(RUNS, 2))
def test_a_form_trains_as_one_device(opened_mesh: Any, form: str, runner: RunnerType) -> None:  # noqa: F811
    losses, expected = train(opened_mesh((1, 1), ("_", "__")), ("_", "__"), False, RunnerType.Default)
    shape, axes, sequence = FORMS[form]
    found, parameters = train(opened_mesh(shape, axes), axes, sequence, runner)
    np.testing.assert_allclose(found, losses, rtol=2e-5)
    for name, array in expected.items():
        np.testing.assert_allclose(parameters[name], array, atol=2e-5, err_msg=name)


@pytest.mark.filterwarnings("ignore:fully_shard")
@pytest.mark.parametrize(
    "form",
    sweep(
        ["dp", "tp", "sp", "fsdp", "cp", "dp x tp", "dp x fsdp", "fsdp x tp", "fsdp x sp", "cp x tp"],
        quick=["dp x fsdp"],
    ),
)
def test_a_form_resumes(opened_mesh: Any, form: str, tmp_path: Path) -> None:  # noqa: F811
    """With the bits of an unbroken run on its own mesh; on another, with that run's numbers."""

    def run(steps: range, at: str = form, **files: Any) -> tuple[list[float], dict[str, np.ndarray]]:
        shape, axes, sequence = FORMS[at]
        return train(opened_mesh(shape, axes), axes, sequence, RunnerType.Default, steps, **files)

    file = tmp_path / "half.pkl"
    losses, expected = run(range(3))
    run(range(2), save=file)
    found, parameters = run(range(2, 3), load=file)
    assert found == losses[2:]
    for name, array in expected.items():
        assert parameters[name].tobytes() == array.tobytes(), name
    elsewhere, parameters = run(range(2, 3), "fsdp x tp" if form != "fsdp x tp" else "tp", load=file)
    np.testing.assert_allclose(elsewhere, losses[2:], rtol=2e-5)
    for name, array in expected.items():
        np.testing.assert_allclose(parameters[name], array, atol=2e-5, err_msg=name)


def configured(
    opened: Any, mesh: tuple[int, int], names: list[str], model: str, **device: Any
) -> tuple[list[float], dict[str, np.ndarray], Any]:
    """Losses, whole parameters and the model of two steps of what a configuration describes."""
    opened((1, 1), "float32").close_device()
    context = AutoContext.get_instance()
    sizes = {"num_heads": 4, "num_groups": 4, "embedding_dim": 64, "num_blocks": 2, "vocab_size": 128, "max_sequence_length": 32, "dropout_prob": 0.0}  # fmt: skip
    if model == "gpt2":
        del sizes["num_groups"]
    if model == "qwen3":
        sizes |= {"num_heads": 2, "num_groups": 2}
    flags = {f"enable_{name}": True for name in names}
    config: dict[str, Any] = {
        "transformer_config": {"model_type": model, **sizes},
        "device_config": {"mesh_shape": list(mesh), **flags, **device},
    }
    context._parallelism = None
    initialize_device(config)
    context.set_seed(7)
    made = TransformerModelFactory(config).create_model()
    trainer = Trainer(
        made, SGD(made.parameters(), SGDConfig.make(lr=0.5)), sequence_length=32, batch_size=4, clip=1.0
    )
    draws = iter([np.random.default_rng(s).integers(0, 128, (4, 33), np.uint32) for s in range(2)])

    def batches() -> tuple[np.ndarray, np.ndarray]:
        draw = next(draws)
        return np.ascontiguousarray(draw[:, :-1]), np.ascontiguousarray(draw[:, 1:])

    losses = [trainer.step(batches)[0] for _ in range(2)]
    return losses, {name: whole_parameter(tensor) for name, tensor in made.parameters().items()}, made


@pytest.mark.filterwarnings("ignore:fully_shard")
@pytest.mark.parametrize(
    ("shape", "kinds"),
    sweep(
        [((1, 4), ["fsdp"]), ((4, 1), ["fsdp"]), ((2, 2), ["ddp", "fsdp"]), ((2, 2), ["fsdp", "tp"])],
        quick=[(2, 2)],
    ),
)
@pytest.mark.parametrize("model", [pytest.param("gpt2", marks=pytest.mark.wide), "llama"])
def test_a_configuration_cuts_parameters(
    opened: Any, shape: tuple[int, int], kinds: list[str], model: str
) -> None:
    """`enable_fsdp` alone and beside another kind: the losses and parameters of one device, with some left whole."""

    # On one of the meshes parameters are made when they are cut already.
    device = {"fsdp_replicate_params": ["gamma$", "^tok_emb"], "lazy_parameter_init": shape == (4, 1)}
    losses, expected, _ = configured(opened, (1, 1), [], model)
    found, parameters, made = configured(opened, shape, kinds, model, **device)
    cut = [name for name, tensor in made.parameters().items() if fsdp.is_fsdp_managed(tensor)]
    assert cut and not any("gamma" in n or "tok_emb" in n for n in cut)
    np.testing.assert_allclose(found, losses, rtol=2e-5)
    assert parameters.keys() == expected.keys() or "tp" in kinds
    for name in parameters.keys() & expected.keys():
        np.testing.assert_allclose(parameters[name], expected[name], atol=2e-5, err_msg=name)


@pytest.mark.parametrize(
    ("shape", "kinds"),
    sweep(
        [((1, 4), ["cp"]), ((4, 1), ["cp"]), ((2, 2), ["ddp", "cp"]), ((2, 2), ["cp", "tp"])],
        quick=[(2, 2)],
    ),
)
@pytest.mark.parametrize("model", [pytest.param("llama", marks=pytest.mark.wide), "qwen3"])
def test_positions_in_a_zigzag_train_as_on_one_device(
    opened: Any, shape: tuple[int, int], kinds: list[str], model: str
) -> None:
    def text(made: Any) -> list[int]:
        sampling = Sampling(temperature=0.0)
        return generate(made, [1, 2, 3], max_new_tokens=3, sequence_length=32, vocab_size=128, sampling=sampling)  # fmt: skip

    def asked(made: Any) -> np.ndarray:
        return last_logits(made, Placing.current().of_positions(), [[5, 6, 7, 8]])

    losses, expected, made = configured(opened, (1, 1), [], model)
    continued, logits = text(made), asked(made)
    found, parameters, made = configured(opened, shape, kinds, model, cp_layout="zigzag")
    assert text(made) == continued
    np.testing.assert_allclose(asked(made), logits, atol=2e-5)
    np.testing.assert_allclose(found, losses, rtol=2e-5)
    for name in parameters.keys() & expected.keys():
        np.testing.assert_allclose(parameters[name], expected[name], atol=2e-5, err_msg=name)


def test_grpo_tells_that_positions_are_cut(opened_mesh: Any) -> None:  # noqa: F811
    opened_mesh((1, 4), ("_", "cp"))
    completer = ModelCompleter(DecoderLlama(LlamaConfig(**SIZES)), None)
    with pytest.raises(RuntimeError, match=r"GRPOTrainer needs all positions .* help: enable_ddp: true"):
        GRPOTrainer(completer, [], GRPOConfig(), lambda completions: [], {"type": "SGD", "lr": 0.1})
