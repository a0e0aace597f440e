"""`ttml.common.utils`: seeds, the device of a configuration, optimizers by configuration, rates.

(The module's name is the documents'; here it only gathers what they import from it.)
"""

from __future__ import annotations

import contextlib
import random
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tt_run.runtime.errors import type_name
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.train.autograd.axis_placement import is_replicated
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.graph import GradMode
from tt_run.runtime.train.autograd.operation import naming_faults
from tt_run.runtime.train.autograd.parallelism import DistributedConfig, ParallelismContext
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.common.config import DeviceConfig, TrainingConfig
from tt_run.runtime.train.common.documents import places, whole_of
from tt_run.runtime.train.memory import MemoryUsageTracker
from tt_run.runtime.train.modules.base import ModuleBase, RunMode
from tt_run.runtime.train.optimizers import registry
from tt_run.runtime.train.optimizers.registry import KNOWN, type_of
from tt_run.runtime.train.optimizers.settings import ALIASES
from tt_run.runtime.train.parallel.distributed import concat_mesh_to_tensor_composer, enable_fabric
from tt_run.runtime.train.parallel.named_mesh import Mesh
from tt_run.runtime.train.parallel.sharded_parameters import whole_shape
from tt_run.runtime.train.settings import Path, Place, saying_where

PADDING = 1e4


@naming_faults
def set_seed(seed: int = 42) -> None:
    """Seed Python, NumPy and the context."""
    random.seed(seed)
    np.random.seed(seed)
    AutoContext.get_instance().set_seed(seed)


@naming_faults
def round_up_to_tile(value: int, tile: int = TILE_SIZE) -> int:
    """The next multiple of the tile. Raises ValueError for a tile of nothing."""
    if tile == 0:
        raise ValueError(f"round_up_to_tile: a tile of 0 has no multiples; help: tile={TILE_SIZE}")
    return -(-value // tile) * tile


def initialize_device(cfg: Mapping[str, Any]) -> None:
    """Open the mesh that `device_config` describes, with the fabric it needs.

    Its `enable_ddp`, `enable_fsdp`, `enable_cp` and `enable_tp` then say what the axes carry, unless the program initialises a parallelism context itself.
    """
    cfg = whole_of(cfg, DeviceConfig.section)
    device, context = DeviceConfig(cfg), AutoContext.get_instance()
    if device.total_devices() > 1:
        enable_fabric(device.total_devices())
    with saying_where([(cfg.get("device_config"), places(cfg), ("device_config",))]):
        context.open_device(device.mesh_shape, device.device_ids or None, device.command_queues)
    shape = context.get_device().shape
    wanted = DistributedConfig(
        device.enable_ddp, device.enable_tp, device.enable_cp, device.enable_fsdp, device.cp_layout
    )
    # A shape that does not fit the strategies is refused where the program asks for them.
    with contextlib.suppress(RuntimeError, ValueError):
        context.imply_parallelism(ParallelismContext(wanted, (shape[0], shape[1])))


@naming_faults
def build_mesh(device_config: DeviceConfig) -> Mesh:
    """The named mesh of a `device_config`: axes "dp", "fsdp", "cp" and "tp" in the order in which a parallelism context gives them out, others "_0", "_1".

    On a line the axis is the longer one. Raises ValueError when the axes are not as many as the kinds.
    """
    rows, columns = (int(side) for side in device_config.mesh_shape)
    flags = {"dp": device_config.enable_ddp, "fsdp": device_config.enable_fsdp, "cp": device_config.enable_cp, "tp": device_config.enable_tp}  # fmt: skip
    wanted = [name for name, enabled in flags.items() if enabled]
    names = ["_0", "_1"]
    axes = [axis for axis, side in enumerate((rows, columns)) if side > 1] or [0]
    if wanted and len(wanted) != len(axes):
        raise ValueError(
            f"a {rows}x{columns} mesh has {len(axes)} {'axis' if len(axes) == 1 else 'axes'} for {', '.join(wanted)}; "
            "help: one of enable_ddp, enable_fsdp, enable_cp and enable_tp for each side longer than 1"
        )
    for axis, name in zip(axes, wanted, strict=False):
        names[axis] = name
    return Mesh((rows, columns), (names[0], names[1]))


@naming_faults
@contextlib.contextmanager
def no_grad() -> Iterator[None]:
    """A block, or a decorated function, in which nothing is recorded; the mode before comes back."""
    context = AutoContext.get_instance()
    before = context.get_gradient_mode()
    context.set_gradient_mode(GradMode.DISABLED)
    try:
        yield
    finally:
        context.set_gradient_mode(before)


@naming_faults
@contextlib.contextmanager
def run_mode(model: ModuleBase, mode: RunMode) -> Iterator[None]:
    """A block, or a decorated function, in which a model is in another mode; the mode before comes back."""
    before = model.get_run_mode()
    model.set_run_mode(mode)
    try:
        yield
    finally:
        model.set_run_mode(before)


@naming_faults
def get_loss_over_devices(loss: Tensor) -> float:
    """The mean of a loss over all devices."""
    value = loss.get_value()
    if is_replicated(value, None):
        return float(loss.to_numpy().mean())
    composer = concat_mesh_to_tensor_composer(AutoContext.get_instance().get_device(), 0)
    return float(loss.to_numpy(composer=composer).mean())


@naming_faults
def resolve_padded_load_shape(
    src_shape: Sequence[int],
    target_shape: Sequence[int],
    expected_shape: Sequence[int] | None = None,
    *,
    name: str = "",
) -> tuple[int, ...]:
    """The shape to which a weight from a file is padded: `target_shape`, the parameter's, where the file's is that one or `expected_shape`.

    `expected_shape` is what the configuration says, before whole tiles. Raises RuntimeError for a file's shape that is another, and for one
    that would have to be cut.
    """
    source, target = tuple(map(int, src_shape)), tuple(map(int, target_shape))
    if len(source) != len(target):
        raise RuntimeError(
            f"{name}: source rank {len(source)} does not match target rank {len(target)}.\nhelp: a weight of as many dimensions"
        )
    if expected_shape is not None:
        expected = tuple(map(int, expected_shape))
        if source != expected:
            raise RuntimeError(
                f"{name}: checkpoint shape {source} does not match the config-implied shape {expected}; help: the configuration in its config.json"
            )
        if any(own < given for own, given in zip(target, source, strict=True)):
            raise RuntimeError(
                f"{name}: parameter shape {target} is smaller than the config-implied shape {source}; help: the configuration in its config.json"
            )
        return target
    if source != target:
        if target != tuple(map(round_up_to_tile, source)):
            raise RuntimeError(
                f"Unexpected shape for {name}: got {source}, expected {target} or what it is without padding to whole tiles; help: the configuration with which the file was written"
            )
        print(
            f"Warning: tile-padding {name} from {source} to {target}; no configuration says that this is all that differs"
        )
    return target


@naming_faults
def build_logits_mask(vocab_size: int, padded_vocab_size: int) -> Tensor:
    """[1, 1, 1, padded]: 0 on the vocabulary, large on the padding; what sampling subtracts."""
    mask = np.zeros((1, 1, 1, padded_vocab_size), np.float32)
    mask[..., vocab_size:] = PADDING
    return Tensor.from_numpy(mask)


def create_optimizer(model: ModuleBase, yaml_config: Mapping[str, Any]) -> Any:
    """The optimizer of `training_config`: its flat keys, and over them the nested map `optimizer`; or of such a map by itself.

    Raises ConfigError for a type it does not know, TypeError for a configuration that is no map.
    """
    if not isinstance(yaml_config, Mapping):
        raise TypeError(
            f"create_optimizer(model, yaml_config): the configuration is a map, not {type_name(yaml_config)}; "
            "help: create_optimizer(model, {'type': 'AdamW', 'lr': 1e-4})"
        )
    if "type" in yaml_config and "training_config" not in yaml_config:
        return registry.create_optimizer(yaml_config, model.parameters())
    training = TrainingConfig({"training_config": yaml_config.get("training_config")})
    nested = training.optimizer_settings
    place = _places_of(yaml_config, nested)
    flat = "SGD" if training.use_sgd else "MorehAdamW" if training.use_moreh_adamw else "AdamW"
    kind = type_of({"type": nested.get("type", flat)}, place)
    if kind not in KNOWN:
        return registry.placed_optimizer({**nested, "type": kind}, model.parameters(), place)
    own = {"lr": training.lr, **training.given}
    settings = {key: own[key] for key in KNOWN[kind].settings if key in own and key != "learning_rate"}
    # One name for what has two, so that the nested form is over the flat one whichever name each uses.
    over = {ALIASES.get(key, key): value for key, value in nested.items()}
    config = {**{ALIASES.get(key, key): value for key, value in settings.items()}, **over, "type": kind}
    return registry.placed_optimizer(config, model.parameters(), place)


def _places_of(yaml_config: Mapping[str, Any], nested: Mapping[str, Any]) -> Place:
    """Where a setting of the optimizer stands in the file of a configuration: in the nested map, or flat; "" for one of a program."""
    at = places(yaml_config)

    def place(path: Path) -> str:
        if len(path) > 2:
            return at(("training_config", *path))
        names = (path[-1], *(name for name, same in ALIASES.items() if same == path[-1]))
        inside = next((name for name in names if name in nested), None)
        if inside is not None:
            return at(("training_config", "optimizer", inside))
        flat = yaml_config.get("training_config") or {}
        return at(("training_config", next((name for name in names if name in flat), "optimizer")))

    return place


class PerformanceMeter:
    """Samples and tokens per second over the last steps."""

    def __init__(self, cfg: Any, window_size: int = 10) -> None:
        self.cfg = cfg
        self.steps: deque[float] = deque(maxlen=window_size)

    def step(self) -> None:
        """Note that a step has ended."""
        self.steps.append(time.time())

    def get_metrics(self) -> tuple[float, float]:
        """(samples per second, tokens per second); zeros until there are two steps.

        The window counts its steps, not the intervals between them, as the reference does: a slight over-estimate.
        """
        window = self.steps[-1] - self.steps[0] if self.steps else 0.0
        if window == 0:
            return 0.0, 0.0
        samples = len(self.steps) * self.cfg.batch_size * self.cfg.gradient_accumulation_steps
        return samples / window, samples * self.cfg.seq_len / window


@naming_faults
def parameter_count(model: ModuleBase) -> int:
    """Elements of all parameters, a sharded one with all its shards."""
    return sum(int(np.prod(whole_shape(tensor))) for tensor in model.parameters().values())


def summary(model: ModuleBase) -> str:
    """Print, and return, a table of parameters: path, whole shape, number of elements, whether trained; and their sums. Raises TypeError for what has no parameters."""
    if not hasattr(model, "parameters"):
        raise TypeError(f"summary: a module of ttml is wanted, not {type_name(model)}; help: summary(model)")
    lines, total, trained = [], 0, 0
    for name, tensor in model.parameters().items():
        shape = whole_shape(tensor)
        count = int(np.prod(shape))
        total, trained = total + count, trained + count * tensor.get_requires_grad()
        lines.append(
            f"{name:<60} {shape!s:<24} {count:>14,}{'' if tensor.get_requires_grad() else '  frozen'}"
        )
    text = "\n".join([*lines, f"Total parameters: {total:,}", f"Trainable parameters: {trained:,}"])
    print(text)
    return text


def get_device_peak_tflops_bf16() -> float:
    """What all cores of one device of the open mesh can do in bfloat16 products, in 10^12 operations per second.

    Raises ValueError for another architecture than Wormhole and Blackhole.
    """
    context = AutoContext.get_instance()
    arch = context.get_device().arch().name
    if arch not in _TFLOPS:
        raise ValueError(f"Unknown device {arch}; help: {' or '.join(_TFLOPS)}")
    grid = context.full_compute_grid_size()
    return grid.x * grid.y * _TFLOPS[arch]


_TFLOPS = {"WORMHOLE_B0": 1.0, "BLACKHOLE": 1.35}
"""Of a core at its clock; what upstream's meters of use divide by."""


def get_available_device_memory_in_bytes() -> int:
    """DRAM of one device of the open mesh, in bytes, less what tensors hold where a memory capture runs.

    Source: 12 GiB on Wormhole, 32 GiB on Blackhole (products' data sheets).
    """
    device = AutoContext.get_instance().get_device()
    whole = (32 if "BLACKHOLE" in str(device.arch()).upper() else 12) << 30
    return whole - MemoryUsageTracker.get_current()
