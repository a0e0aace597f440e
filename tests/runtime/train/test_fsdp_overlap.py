"""Gathers and sums of cut modules from a second command queue: when they are issued, and that no bit changes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.runtime.train.test_building import bits, ids, model, opened_mesh, train  # noqa: F401
from tt_run.runtime import events, queues
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.common.config import DeviceConfig
from tt_run.runtime.train.common.documents import load_config
from tt_run.runtime.train.common.factory import TransformerModelFactory
from tt_run.runtime.train.models.runner import RunnerType
from tt_run.runtime.train.modules.base import AbstractModuleBase
from tt_run.runtime.train.modules.containers import ModuleList
from tt_run.runtime.train.modules.linear import LinearLayer
from tt_run.runtime.train.ops.unary import mean
from tt_run.runtime.train.optimizers.sgd import SGD, SGDConfig
from tt_run.runtime.train.parallel import fsdp, fsdp_memory, fsdp_overlap
from tt_run.runtime.train.parallel.distributed import shard_tensor_to_mesh_mapper
from tt_run.runtime.train.parallel.named_mesh import Mesh, open_device_mesh, sync_gradients
from tt_run.runtime.train.parallel.sharded_parameters import whole_parameter
from tt_run.runtime.train.settings import ConfigError

WIDTH = 8


@pytest.fixture
def two_queues(opened_mesh: Any) -> Iterator[Any]:  # noqa: F811
    """two_queues(): four devices with two command queues each."""

    def make() -> AutoContext:
        context: AutoContext = opened_mesh((1, 4), ("_", "fsdp"))
        context.close_device()
        open_device_mesh(Mesh((1, 4), ("_", "fsdp")), None, 2)
        context.set_seed(7)
        return context

    yield make
    fsdp_overlap._enabled.clear()


class Chain(AbstractModuleBase):
    """Layers one after another, of which a pass may leave some out."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.layers = ModuleList([LinearLayer(WIDTH, WIDTH, False) for _ in range(layers)])

    def forward(self, x: Tensor, leave_out: int | None = None) -> Tensor:
        for number, layer in enumerate(self.layers):
            x = x if number == leave_out else layer(x)
        return x


def cut(module: Chain, root: bool = True) -> Chain:
    for layer in module.layers:
        fsdp.fully_shard(layer)  # type: ignore[arg-type]
    return fsdp.fully_shard(module) if root else module  # type: ignore[return-value]


@pytest.mark.parametrize("runner", [RunnerType.Default, RunnerType.MemoryEfficient])
def test_no_bit_changes(two_queues: Any, runner: RunnerType) -> None:
    def trained(overlaps: bool) -> dict[str, bytes]:
        context = two_queues()
        if overlaps:
            fsdp_overlap.enable_overlap(columns=1)
            assert context.has_ccl_sub_device()
        mapper = shard_tensor_to_mesh_mapper(context.get_device(), 0, 1)
        module = model(runner_type=runner)
        blocks = [child for name, child in module.named_children() if "block" in name]
        for number, block in enumerate(blocks):
            fsdp.fully_shard(block, reshard_after_forward=number < len(blocks) - 1)  # type: ignore[arg-type]
        fsdp.fully_shard(module, reshard_after_forward=False)
        return train(context, module, mapper, {"type": "AdamW", "lr": 0.01}, steps=2)

    assert trained(True) == trained(False)


@pytest.mark.parametrize("root", [True, False])
def test_each_module_is_gathered_while_the_one_before_computes(two_queues: Any, root: bool) -> None:
    context = two_queues()
    fsdp_overlap.enable_overlap(rows=1, lookahead=3)
    module = cut(Chain(3), root)
    seen: list[str] = []
    words = {"all_gather": "gather", "reduce_scatter": "sum", "ttml.linear": "use", "ttml.linear backward": "slope"}  # fmt: skip
    heard = Heard()
    queues.follow(heard)
    stop = events.subscribe(lambda event: seen.append(words.get(event.name, "")))
    try:
        mapper = shard_tensor_to_mesh_mapper(context.get_device(), 0, 1)
        out = module(Tensor.from_numpy(np.ones((4, 1, 2, WIDTH), np.float32), mapper=mapper))
        forward, waits = [word for word in seen if word], list(heard.waiting)
        assert not context.is_backward_in_progress()
        seen.clear()
        heard.waiting.clear()
        out.backward()
    finally:
        stop()
        queues._followers.remove(heard)
    assert forward == ["gather", "gather", "use", "gather", "use", "use"]
    # A gradient is cut behind the gather that the next layer waits for.
    assert [word for word in seen if word] == [
        *("gather", "gather", "slope"),
        *("gather", "slope", "sum"),
        *("slope", "sum", "sum"),
    ]
    # The second queue waits for what is computed, then computing waits for the gather: of the first module at once, later ones are under way.
    assert waits.count(0) == waits.count(1) == (4 if root else 3)
    # Each gradient is cut from the second queue; what reads them waits once for all, when the pass is through.
    assert heard.waiting[-1] == 0
    assert heard.waiting.count(1) - heard.waiting.count(0) == 3 - 1


@pytest.mark.parametrize("overlaps", [True, False])
def test_a_second_pass_over_a_kept_graph_is_as_without_shards(two_queues: Any, overlaps: bool) -> None:
    """What gathers and announces adds no tensor whose gradient would count again; a module may return its input."""

    def run(shards: bool) -> dict[str, np.ndarray]:
        context = two_queues()
        if overlaps and shards:
            fsdp_overlap.enable_overlap()
        module = Chain(2)
        if shards:
            cut(module)
        mapper = shard_tensor_to_mesh_mapper(context.get_device(), 0, 1)
        x = Tensor.from_numpy(
            np.linspace(-1, 1, 4 * 2 * WIDTH, dtype=np.float32).reshape(4, 1, 2, WIDTH), mapper=mapper
        )
        x.set_requires_grad(False)
        out = module(x)
        loss = mean(module(out, leave_out=1) * out)
        loss.backward(True)
        loss.backward(False)
        sync_gradients(module.parameters(), ("fsdp",))
        SGD(module.parameters(), SGDConfig.make(1.0)).step()
        return {name: whole_parameter(tensor) for name, tensor in module.parameters().items()}

    expected = run(False)
    for name, found in run(True).items():
        np.testing.assert_allclose(found, expected[name], rtol=1e-5, atol=1e-6, err_msg=name)


def test_what_was_gathered_for_a_module_that_did_not_run_is_not_used_later(two_queues: Any) -> None:
    """Parameters may have changed in between."""
    two_queues()
    fsdp_overlap.enable_overlap()
    module = cut(Chain(3))
    optimizer = SGD(module.parameters(), SGDConfig.make(0.5))
    x = Tensor.from_numpy(np.ones((1, 1, 2, WIDTH), np.float32))
    for tensor in module.parameters().values():
        tensor.set_grad((tensor * 1.0).get_value())
    for left_out in (1, 2):
        module(x, left_out)
        optimizer.step()
        found = module(x).to_numpy()
        expected = np.ones((2, WIDTH), np.float32)
        for layer in module.layers:
            layer.unshard()  # type: ignore[operator]
            expected = expected @ layer.weight.tensor.to_numpy()[0, 0].T  # type: ignore[union-attr]
            layer.reshard()  # type: ignore[operator]
        np.testing.assert_allclose(found[0, 0], expected, rtol=1e-5)


def test_what_an_overlap_needs_is_told(opened_mesh: Any, two_queues: Any) -> None:  # noqa: F811
    context = opened_mesh((1, 4), ("_", "fsdp"))
    with pytest.raises(RuntimeError, match="num_command_queues=2"):
        fsdp_overlap.enable_overlap()
    context.close_device()
    with pytest.raises(RuntimeError, match="no mesh is open"):
        fsdp_overlap.enable_overlap()
    two_queues()
    with pytest.raises(ValueError, match="lookahead must be at least 1"):
        fsdp_overlap.enable_overlap(lookahead=0)
    with pytest.raises(RuntimeError, match="got 1 columns and 1 rows"):
        fsdp_overlap.enable_overlap(1, 1)
    assert fsdp_overlap.current_overlap() is None


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("fsdp_overlap_collectives: true", "fsdp_overlap_collectives requires enable_fsdp; help: enable_fsdp: true"),
        ("fsdp_ccl_subdevice: {columns: 1, rows: 1}", "fsdp_ccl_subdevice takes exactly one of columns and rows"),
        ("fsdp_ccl_subdevice: 2", "not 2; help: write fsdp_ccl_subdevice: {columns: 1}"),
        ("fsdp_ccl_subdevice: {rows: 0}", "fsdp_ccl_subdevice.rows must be at least 1, not 0; help: write rows: 1"),
        ("fsdp_overlap_lookahead: 0", "fsdp_overlap_lookahead must be at least 1, not 0"),
    ],
)  # fmt: skip
def test_settings_of_an_overlap(tmp_path: Path, written: str, message: str) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(f"device_config:\n  {written}\n")
    with pytest.raises(ConfigError) as caught:
        DeviceConfig(load_config(file))
    assert message in str(caught.value)


def test_a_file_asks_for_an_overlap(two_queues: Any) -> None:
    written = {
        "device_config": {"enable_fsdp": True, "mesh_shape": [1, 4], "fsdp_overlap_collectives": True, "fsdp_ccl_subdevice": {"rows": 1}},
        "transformer_config": {"model_type": "llama", "num_blocks": 2, "num_heads": 2, "num_groups": 2, "embedding_dim": 64, "max_sequence_length": 32, "vocab_size": 64},
    }  # fmt: skip
    context = two_queues()
    device = DeviceConfig(written)
    assert (device.command_queues, device.fsdp_overlap_lookahead) == (2, 2)
    made = TransformerModelFactory(written).create_model()
    overlap = fsdp_overlap.current_overlap()
    assert overlap is not None and context.has_ccl_sub_device()
    assert context.get_device().compute_with_storage_grid_size().y == context.full_compute_grid_size().y - 1
    assert len(made._fsdp_state.row.units) == 3
    made(*ids()[:1])


@pytest.mark.parametrize(
    ("room", "cut_again"), [(0, [True] * 3), (1e-9, [True, True, False]), ("inf", [False] * 3)]
)
def test_a_file_says_how_many_blocks_stay_whole(two_queues: Any, room: object, cut_again: list[bool]) -> None:
    written = {
        "device_config": {"enable_fsdp": True, "mesh_shape": [1, 4], "fsdp_keep_gathered_gib": room},
        "transformer_config": {"model_type": "llama", "num_blocks": 3, "num_heads": 2, "num_groups": 2, "embedding_dim": 64, "max_sequence_length": 32, "vocab_size": 64},
    }  # fmt: skip
    two_queues()
    made = TransformerModelFactory(written).create_model()
    _, *blocks = fsdp_memory.fsdp_units(made)
    assert [block.__dict__[fsdp.STATE].reshard_after_forward for block in blocks] == cut_again


class Heard(queues.Follower):
    """Which queue waited, in order."""

    def __init__(self) -> None:
        self.waiting: list[int] = []

    def waits(self, queue: int, event: queues.MeshEvent) -> None:
        self.waiting.append(queue)
