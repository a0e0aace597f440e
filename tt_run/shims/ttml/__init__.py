"""The emulated `ttml`: names only. What each does, and its documentation, is in `tt_run.runtime.train`."""

import ttnn  # type: ignore[import-not-found,unused-ignore]  # noqa: F401 - programs may use ttnn's names after importing ttml alone

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.enums": "Layout DataType",
    "tt_run.runtime.ops": "argmax",
    "tt_run.runtime.train.parallel.named_mesh": "Mesh mesh maybe_mesh current_mesh=maybe_mesh current_mesh_or_raise=mesh open_device_mesh close_device_mesh reset_metal_env sync_gradients sync_sequence_parallel_gradients",
    "tt_run.runtime.train.modules.initial": "manual_seed",
    "tt_run.runtime.train.modules.lazy": "lazy_init is_lazy_init_enabled materialize_module",
    "tt_run.runtime.train.modules.base": "NamedParameters",
    "tt_run.runtime.train.parallel.sharding": "Sharding",
}
_SUBMODULES = (
    "autograd",
    "ops",
    "modules",
    "models",
    "optimizers",
    "parallel",
    "schedulers",
    "core",
    "common",
    "init",
    "datasets",
    "distributed",
    "fsdp",
    "lazy",
    "trainers",
    "checkpointing",
    "sharding",
    "testing",
    "_mesh",
    "_ttml",
)

__getattr__, __dir__ = _publish(globals(), _TABLE, _SUBMODULES)
