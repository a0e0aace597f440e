"""What the reference library 0.81.1 has by name, so that a name that is missing here is told from one that exists nowhere.

`reference_names.txt` lists one name per line, those of operations with a trailing `()`; `scripts/reference_names` made it.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

VERSION = "TT-NN 0.81.1"
PAGE = "docs/reference/operations.md"

_MODULES = frozenset(
    f"{package}.{module}"
    for package, modules in {
        "ttnn": "_experimental experimental_loader download_sfpi",
        "ttnn._experimental": "fabric_mux layer_completion moe_compute_utils reload tensor_prefetcher_matmul",
        "ttnn.experimental_loader": "golden_functions",
        "tracy": (
            "compare_full_op_report merge_meta_class perf_counter_analysis profile_sweeps profile_this serve_wasm tracy_state tracy_ttnn"
        ),
    }.items()
    for module in modules.split()
)
"""Modules of the reference that `reference_names.txt` has no names of."""

# Why a name is left out, by words of it; the first that fits is told.
_KERNELS = "is part of writing kernels, which the emulation does not run"
_REASONS: dict[str, tuple[str, ...]] = {
    "reads what the profiler of a device has logged, which the emulation does not write; tt-run --timeline shows where time goes": (
        "tracy.",
    ),
    "has golden functions of operations: ttnn.get_golden_function(operation) gives those": ("experimental_loader",),
    "fetches the compiler of kernels, which the emulation does not run": ("download_sfpi",),
    _KERNELS: (
        "ttnn._experimental", "generic_op", "ProgramDescriptor", "KernelDescriptor", "CBDescriptor", "CBFormatDescriptor", "SemaphoreDescriptor",
        "ConfigDescriptor", "TileDescriptor", "RuntimeArgs", "circular_buffer", "prefetcher", "program_descriptor", "cb_descriptor",
        "get_cb_address", "TensorAccessorArgs", "ProgramFactory", "DeviceOperation", "select_program_factory", "matmul_attributes",
        "fabric_connection_rt_args", "fabric_kernel_defines", "eth_forwarding_direction", "forwarding_link_indices", "fabric_mux",
        "Mcast", "absent_mcast", "Inputs", "Params", "register_cpp_operation", "auto_register",
    ),
    "is a service on cores of a device, which the emulation does not run": (
        "D2DStageGateDescriptor", "LayerAckService", "layer_completion", "PrefetcherPipe", "prefetcher_pipe",
    ),
    "reads or writes the memory and registers of single cores, which the emulation does not have": (
        "read_from_core", "read_reg", "write_to_core", "dram_bank_table", "read_dram_umd", "chip_unique_id",
    ),
    "replays commands of a device's queues, which the emulation does not record": ("light_metal", "LightMetal"),
    "reads the clocks of a device's cores, which the emulation does not have; tt-run --timeline shows where time goes": (
        "RealtimeProfiler", "ProgramRealtime",
    ),
    "belongs to a tool of the reference; ttnn.graph and tt-run --report serve here": (
        "tracer", "graph_report", "python_io", "python_stack_trace", "comparison_records", "stack_trace_source", "import_report",
        "record_python_operation", "record_tensor_comparison", "store_captured_graph", "store_output_tensor_ids",
        "detailed_buffer", "ExitStackWithPop", "SIDECAR",
    ),
    "is the golden function of an operation: ttnn.get_golden_function(operation) gives those": (
        "_golden", ".golden_",
    ),
    "is what a module of the reference imported for itself: import it from where it is from": (
        ".Any", ".Callable", ".Dict", ".Enum", ".List", ".ModuleType", ".Optional", ".Tuple", ".Union", ".logger", ".reload",
        ".ispkg", ".is_pkg", ".submodule", ".module_from_spec", ".module_name", ".spec", ".loader", ".experimental_loader",
        ".this_dir", ".root_dir", ".ttnn", ".name",
    ),
}  # fmt: skip


_SUCCESSORS: dict[str, str] = {
    "ttnn.Conv1d": "ttnn.conv1d",
    "ttnn.Conv2d": "ttnn.conv2d",
    "ttnn.MaxPool2d": "ttnn.max_pool2d",
    "ttnn.DumpDeviceProfiler": "ttnn.ReadDeviceProfiler",
    "ttnn.DeviceGrid": "ttnn.MeshShape",
    "ttnn.ListMeshToTensor": "ttnn.get_device_tensors",
    "ttnn.aggregate_as_tensor": "ttnn.combine_device_tensors, or ttnn.from_host_shards on the host",
    "ttnn.close_device_mesh": "ttnn.close_mesh_device",
    "ttnn.dropout": "ttnn.experimental.dropout",
    "ttnn.dump_device_profiler": "ttnn.ReadDeviceProfiler",
    "ttnn.enable_program_cache": "device.enable_program_cache",
    "ttnn.experimental.all_gather_matmul": "ttnn.experimental.all_gather_matmul_async",
    "ttnn.experimental.all_reduce": "ttnn.all_reduce",
    "ttnn.experimental.auto_format": "ttnn.tilize_with_val_padding",
    "ttnn.experimental.cumsum": "ttnn.cumsum",
    "ttnn.experimental.dram_prefetcher": "ttnn.dram_prefetcher",
    "ttnn.experimental.gather": "ttnn.gather",
    "ttnn.experimental.reduce_scatter_async": "ttnn.experimental.reduce_scatter_minimal_async",
    "ttnn.experimental.scatter": "ttnn.scatter",
    "ttnn.experimental.sort": "ttnn.sort",
    "ttnn.experimental.tensor": "ttnn.Tensor and the operations of ttnn",
    "ttnn.initialize_edm_fabric": "ttnn.set_fabric_config",
    "ttnn.line_all_gather": "ttnn.all_gather with topology=ttnn.Topology.Linear",
    "ttnn.open_device_mesh": "ttnn.open_mesh_device",
    "ttnn.pad_to_tile_shape": "ttnn.core.roundup of the last two lengths to ttnn.TILE_SIZE",
    "ttnn.synchronize_devices": "ttnn.synchronize_device",
    "ttnn.transformer.windowed_scaled_dot_product_attention": (
        "ttnn.transformer.scaled_dot_product_attention with is_causal=False and cu_window_seqlens="
    ),
}
"""What serves now for names that the reference had before this version, which published programs still use."""


_LATER: dict[str, str] = {
    "ttnn.convert_to_chw": "ttnn.experimental.convert_to_chw",
    "ttnn.convert_to_hwc": "ttnn.experimental.convert_to_hwc",
    "ttnn.copy_to_memory_config": "ttnn.to_memory_config",
    "ttnn.experimental.buffered_recv": "ttnn.experimental.recv_direct_async",
    "ttnn.experimental.buffered_send": "ttnn.experimental.send_direct_async",
    "ttnn.isin": "ttnn.experimental.isin",
    "ttnn.padded_slice": "ttnn.experimental.padded_slice",
    "ttnn.pixel_unshuffle": "ttnn.reshape and ttnn.permute of the pixels of a block",
    "ttnn.redistribute_to_memory_config": "ttnn.to_memory_config",
    "ttnn.slice_write": "ttnn.experimental.slice_write",
    "ttnn.to_sharded": "ttnn.to_memory_config",
}
"""What serves in this version for names of later ones."""


def successor(name: str) -> str | None:
    """The words on a name that earlier or later versions of the reference have, and what serves instead."""
    version = VERSION.split()[-1]
    if now := _SUCCESSORS.get(name):
        return f"which versions of TT-NN before {version} had; what serves now: {now}"
    if now := _LATER.get(name):
        return f"which versions of TT-NN after {version} have; what serves in {version}: {now}"
    return None


def successors() -> dict[str, str]:
    """Each name that other versions of the reference have and this one has not, and what serves instead."""
    return {**_SUCCESSORS, **_LATER}


@lru_cache(maxsize=1)
def names() -> dict[str, bool]:
    """Every public name of the reference, and whether it is an operation."""
    lines = (
        Path(__file__).with_name("reference_names.txt").read_text(encoding="utf-8").split("\n")
    )  # installed beside this module
    return {line.removesuffix("()"): line.endswith("()") for line in lines if line and line[0] != "#"}


def has(name: str) -> bool:
    """Whether the reference has a name or a module of that name."""
    return name in names() or name in _MODULES


def operations(namespace: str = "ttnn") -> list[str]:
    """The qualified names of the reference's operations in a namespace and below."""
    return [
        name for name, is_operation in names().items() if is_operation and name.startswith(f"{namespace}.")
    ]


def is_kernel(name: str) -> bool:
    """Whether a name of the reference means something of a kernel, which the emulation leaves out on purpose."""
    return _reason(name) == _KERNELS


def sentence(name: str) -> str:
    """What to say of a name of the reference that is not here."""
    return f"{name} exists in {VERSION} and {_reason(name) or 'is not emulated'}; what is: {PAGE}"


def _reason(name: str) -> str | None:
    for why, words in _REASONS.items():
        if any(name.endswith(word) if word[0] == "." and word[-1] != "_" else word in name for word in words):
            return why
    return None
