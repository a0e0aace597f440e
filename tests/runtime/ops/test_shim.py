"""The `ttnn` that programs import: every name resolves, is cheap to import, silent, and unknown names are told apart."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.runtime.mpi import ROOT, SHIMS

# Names that the documents and the recorded answers use.
DOCUMENTED = [
    "MeshShape",
    "Tensor",
    "MeshCoordinate",
    "Device",
    "DispatchCoreConfig",
    "SubDevice",
    "SubDeviceId",
    "open_mesh_device",
    "TILE_LAYOUT",
    "from_torch",
    "distribute",
    "PlacementShard",
    "MeshMapperConfig",
    "bfloat16",
    "ShardTensorToMesh",
    "Shape",
    "gelu",
    "PlacementReplicate",
    "MeshCoordinateRange",
    "to_torch",
    "linear",
    "CoreCoord",
    "all_gather",
    "compute_distribution_to_mesh_mapping",
    "model_preprocessing.preprocess_model_parameters",
    "MeshComposerConfig",
    "visualize_system_mesh",
    "visualize_mesh_device",
    "create_socket_pair",
    "SocketConfig",
    "ReplicateTensorToMesh",
    "CoreGrid",
    "ConcatMeshToTensor",
    "visualize_tensor",
    "open_device",
    "experimental.recv_async",
    "experimental.send_async",
    "close_mesh_device",
    "to_device",
    "load_tensor",
    "dump_tensor",
    "get_pcie_device_ids",
    "get_num_pcie_devices",
    "get_num_devices",
    "get_device_ids",
    "float32",
    "cluster.get_cluster_type",
    "Topology.Linear",
    "MeshSocket",
    "MeshCoreCoord",
    "MeshCoordinateRangeSet",
    "uint8",
    "uint32",
    "uint16",
    "int32",
    "set_fabric_config",
    "release_trace",
    "execute_trace",
    "end_trace_capture",
    "begin_trace_capture",
    "create_mesh_mapper",
    "close_device",
    "bfloat8_b",
    "bfloat4_b",
    "allocate_tensor_on_device",
    "SocketMemoryConfig",
    "MeshDevice",
    "GetDefaultDevice",
    "SetDefaultDevice",
    "DRAM_MEMORY_CONFIG",
    "L1_MEMORY_CONFIG",
    "CoreRange",
    "CoreRangeSet",
    "rand",
    "matmul",
    "get_device_tensors",
    "get_arch_name",
    "create_sharded_memory_config",
    "create_global_semaphore",
    "command_queue",
    "argmax",
    "Tile",
    "TILE_SIZE",
    "SocketConnection",
    "ShardTensor2dMesh",
    "ShardStrategy.WIDTH",
    "ROW_MAJOR_LAYOUT",
    "GetNumPCIeDevices",
    "GetNumAvailableDevices",
    "FabricTensixConfig",
    "FabricReliabilityMode",
    "FabricConfig.FABRIC_1D",
    "DumpTensorMode",
    "_ttnn.multi_device.SystemMeshDescriptor",
    "_ttnn.multi_device.MeshDevice",
    "_ttnn.tensor.Tensor",
    "_ttnn.mesh_socket.MeshSocket",
    "transformer.scaled_dot_product_attention",
    "kv_cache.fill_cache_for_user_",
    "distributed.open_mesh_device",
    "synchronize_device",
    "record_event",
    "using_distributed_env",
    "distributed_context_get_rank",
    "zeros",
    "ones",
    "full",
    "arange",
    "empty",
    "to_layout",
    "to_dtype",
    "typecast",
    "to_memory_config",
]


@pytest.fixture(scope="module")
def ttnn() -> Iterator[ModuleType]:
    """The shim, importable for the length of these tests only."""
    sys.path.insert(0, str(SHIMS))
    try:
        yield importlib.import_module("ttnn")
    finally:
        sys.path.remove(str(SHIMS))
        for name in [n for n in sys.modules if n == "ttnn" or n.startswith("ttnn.")]:
            del sys.modules[name]


def test_every_published_name_resolves(ttnn: ModuleType, without_looking: None) -> None:
    modules = [ttnn] + [
        importlib.import_module(m.name) for m in pkgutil.walk_packages(ttnn.__path__, "ttnn.")
    ]
    assert len(modules) > 15
    for module in modules:
        for name in dir(module):
            # None until the environment names them, a database is opened, which nothing does, and a sweep is named
            unset = name in ("CONFIG_PATH", "CONFIG_OVERRIDES", "SQLITE_CONNECTION", "_SWEEP_SOURCE_HASH")
            try:
                value = getattr(module, name)
            except (
                ModuleNotFoundError
            ) as error:  # what looks at PyTorch's calls needs it, and nothing else does
                assert error.name == "torch" and importlib.util.find_spec("torch") is None
                continue
            assert value is not None or unset, f"{module.__name__}.{name}"


def test_suites_tidy_up_tools_that_are_not_there(ttnn: ModuleType) -> None:
    """What the fixtures of the reference's suites do after every test."""
    ttnn.database.DEVICE_IDS_IN_DATABASE.clear()
    assert ttnn.database.SQLITE_CONNECTION is None
    ttnn.tracer.disable_tracing()
    assert not ttnn.tracer.is_tracing_enabled()
    with pytest.raises(NotImplementedError, match=r"ttnn[.]tracer[.]get_graph"):
        ttnn.tracer.codegen(None)


def test_nothing_is_traced_in_the_fast_mode(ttnn: ModuleType) -> None:
    for begin in (ttnn.tracer.enable_tracing, ttnn.tracer.trace().__enter__):
        with pytest.raises(ValueError, match="Tracing is not supported in fast runtime mode") as error:
            begin()
        assert "ttnn.torch_tracer" in "\n".join([str(error.value), *getattr(error.value, "__notes__", ())])


@pytest.mark.parametrize("path", DOCUMENTED)
def test_documented_names_are_there(ttnn: ModuleType, path: str):
    value: Any = ttnn
    for step in path.split("."):
        value = getattr(value, step)


def test_every_operation_is_published(ttnn: ModuleType):
    from tt_run.runtime import catalog

    declared = catalog.every()
    assert len(declared) > 200
    for name, operation in declared.items():
        found: Any = ttnn
        for step in name.split(".")[1:]:
            found = getattr(found, step)
        assert found is operation, name
        assert type(found).__name__ == "FastOperation"


def test_names_complete_in_an_editor(ttnn: ModuleType):
    assert {"add", "all_gather", "transformer", "from_torch", "bfloat16"} <= set(dir(ttnn))
    assert {"scaled_dot_product_attention", "attention_softmax"} <= set(dir(ttnn.transformer))
    assert {"paged_update_cache", "send_async", "MinimalMatmulConfig"} <= set(dir(ttnn.experimental))


def test_an_unknown_name_is_told_with_its_neighbours(ttnn: ModuleType):
    with pytest.raises(
        AttributeError,
        match=r"emulation of ttnn has no attribute 'all_gathr'; the nearest names it has: all_gather",
    ):
        _ = ttnn.all_gathr
    with pytest.raises(AttributeError, match="the nearest names it has: ROW_MAJOR_LAYOUT"):
        _ = ttnn.ROW_MAJOR
    with pytest.raises(
        AttributeError,
        match=r"emulation of ttnn.transformer has no attribute 'xyz'; dir\(ttnn.transformer\) lists what",
    ):
        _ = ttnn.transformer.xyz
    for absent in ("DEFAULT_CONFIG", "barrier", "all_to_all"):
        assert not hasattr(ttnn, absent), absent


def test_an_unknown_name_of_an_import_is_told_with_its_neighbours(ttnn: ModuleType):
    with pytest.raises(ImportError, match="the nearest names it has: scaled_dot_product_attention, "):
        from ttnn.transformer import scaled_dot_product_atention  # noqa: F401
    with pytest.raises(
        ImportError,
        match=r"emulation of ttnn.transformer has no attribute 'xyz'; dir\(ttnn.transformer\) lists what",
    ):
        from ttnn.transformer import xyz  # noqa: F401


def test_a_name_of_earlier_versions_is_told_with_what_serves_now(ttnn: ModuleType):
    from tt_run.runtime.native import names as reference

    with pytest.raises(
        AttributeError,
        match=r"versions of TT-NN before 0\.81\.1 had; what serves now: ttnn\.transformer\.scaled_dot",
    ):
        _ = ttnn.transformer.windowed_scaled_dot_product_attention
    later = r"versions of TT-NN after 0\.81\.1 have; what serves in 0\.81\.1: ttnn\.experimental\.slice_write"
    with pytest.raises(AttributeError, match=later):
        _ = ttnn.slice_write
    for former, now in reference.successors().items():
        assert not reference.has(former), former
        owner, _, name = now.split()[0].rstrip(",").rpartition(".")
        home = ttnn.MeshDevice if owner == "device" else importlib.import_module(owner)
        assert hasattr(home, name), now


def test_a_name_of_the_reference_that_is_missing_is_told_apart(ttnn: ModuleType):
    with pytest.raises(AttributeError) as error:
        _ = ttnn.experimental.create_prefetcher_pipe_space
    assert str(error.value) == (
        "ttnn.experimental.create_prefetcher_pipe_space exists in TT-NN 0.81.1 and is part of writing kernels, which the emulation does not run; "
        "what is: docs/reference/operations.md"
    )
    from tt_run.runtime.native import names as reference

    assert reference.sentence("ttnn.experimental.x").startswith(
        "ttnn.experimental.x exists in TT-NN 0.81.1 and is not"
    )
    assert len([name for name in reference.operations() if name.count(".") == 1]) == 485


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Mcast", "is part of writing kernels"),
        ("LayerAckService", "is a service on cores of a device"),
        ("LightMetalReplay", "replays commands of a device's queues"),
        ("tracer", "belongs to a tool of the reference"),
        ("cluster.read_from_core", "reads or writes the memory and registers of single cores"),
        ("ModuleType", "is what a module of the reference imported for itself"),
    ],
)
def test_a_name_that_is_left_out_tells_why(ttnn: ModuleType, name: str, why: str):
    from tt_run.runtime.native import names as reference

    assert f"ttnn.{name}" in reference.names()
    assert why in reference.sentence(f"ttnn.{name}")


def test_a_class_is_found_in_the_native_module_that_it_names(ttnn: ModuleType):
    for name in (
        "Tensor",
        "MemoryConfig",
        "NdShardSpec",
        "H2DSocket",
        "McastConfig",
        "FabricNodeId",
        "TensorTopology",
    ):
        kind = getattr(ttnn, name)
        assert getattr(importlib.import_module(kind.__module__), kind.__qualname__) is kind


@pytest.mark.parametrize(
    ("module", "name", "first"),
    [
        ("ttnn._ttnn.operations.binary", "add", "add"),
        ("ttnn._ttnn.operations.unary_backward", "gelu_bw", "gelu_bw"),
        ("ttnn._ttnn.operations.transformer", "scaled_dot_product_attention", "transformer.scaled_dot_product_attention"),
        ("ttnn._ttnn.operations.experimental", "paged_update_cache", "experimental.paged_update_cache"),
        ("ttnn._ttnn.operations.ccl", "all_gather", "all_gather"),
        ("ttnn.experimental.quasar.transformer", "flash_mla_prefill", "transformer.flash_mla_prefill"),
        ("ttnn.experimental.quasar", "padded_slice", "experimental.padded_slice"),
        ("ttnn._ttnn.operations.kv_cache", "update_cache_for_token_", "kv_cache.update_cache_for_token_"),
        ("ttnn.operations.core", "as_tensor", "as_tensor"),
        ("ttnn.operations.conv2d", "prepare_conv_weights", "prepare_conv_weights"),
        ("ttnn.distributed.distributed", "ConcatMeshToTensor", "ConcatMeshToTensor"),
    ],
)  # fmt: skip
def test_modules_of_operations_have_the_same_ones(ttnn: ModuleType, module: str, name: str, first: str):
    value: Any = ttnn
    for step in first.split("."):
        value = getattr(value, step)
    assert getattr(importlib.import_module(module), name) is value


def test_every_native_room_of_operations_can_be_imported(ttnn: ModuleType):
    from tt_run.runtime.native import names as reference

    below = "ttnn._ttnn.operations."
    rooms = {
        name.removeprefix(below).partition(".")[0] for name in reference.names() if name.startswith(below)
    }
    assert len(rooms) == 42
    for room in rooms:
        assert dir(importlib.import_module(below + room)), room


def test_what_a_module_of_operations_leaves_out_is_told(ttnn: ModuleType):
    binary = importlib.import_module("ttnn.operations.binary")
    with pytest.raises(AttributeError, match=r"apply_activations exists in TT-NN 0\.81\.1 and is"):
        _ = binary.apply_activations
    matmul = importlib.import_module("ttnn._ttnn.operations.matmul")
    with pytest.raises(
        AttributeError, match=r"MatmulInputs exists in TT-NN 0\.81\.1 and is part of writing kernels"
    ):
        _ = matmul.MatmulInputs


def test_importing_is_silent_and_loads_neither_mpi_nor_torch():
    code = "import sys, ttnn; sys.exit(any(m.split('.')[0] in ('torch', 'mpi4py', 'rich', 'google') for m in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": f"{SHIMS}:{ROOT}", "PATH": ""},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_star_import_brings_every_name():
    code = "from ttnn import *\nfrom ttnn.transformer import *\nprint(open_mesh_device, add, scaled_dot_product_attention, experimental)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": f"{SHIMS}:{ROOT}", "PATH": ""},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


def test_a_module_that_is_missing_is_told_apart(ttnn: ModuleType):
    for name, why in (
        ("ttnn._experimental.fabric_mux", "is part of writing kernels"),
        ("tracy.perf_counter_analysis", "reads what the profiler of a device has logged"),
    ):
        package, _, module = name.rpartition(".")
        with pytest.raises(
            ModuleNotFoundError, match=rf"^{package}(\.{module})? exists in TT-NN 0\.81\.1 and {why}"
        ):
            importlib.import_module(name)
    with pytest.raises(
        ModuleNotFoundError, match=r"^the emulation of ttnn has no module 'ttnn\.operations\.nonsense'$"
    ):
        importlib.import_module("ttnn.operations.nonsense")
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'nonsense'$"):
        importlib.import_module("nonsense")
    assert importlib.import_module("ttnn.decorators").FastOperation is type(ttnn.add)


def test_readers_of_the_profilers_reports_are_imported_and_refuse_when_called(ttnn: ModuleType):
    for module, name in (
        ("process_model_log", "run_device_profiler"),
        ("process_model_log", "get_latest_ops_log_filename"),
        ("process_ops_logs", "get_device_data_generate_report"),
        ("process_device_log", "import_log_run_stats"),
        ("compare_ops_logs", "compare_ops_logs"),
    ):
        reader = getattr(importlib.import_module(f"tracy.{module}"), name)
        with pytest.raises(
            NotImplementedError, match=rf"^tracy\.{module}\.{name} exists .* and reads what the profiler"
        ):
            reader("subfolder", columns=[])
    common = importlib.import_module("tracy.common")
    model = importlib.import_module("tracy.process_model_log")
    assert common.PROFILER_LOGS_DIR == common.PROFILER_ARTIFACTS_DIR / ".logs"
    assert model.get_profiler_folder("run") == common.PROFILER_ARTIFACTS_DIR / "run"
    assert model.get_samples_per_s(2e6, 4) == 2000
    setup = importlib.import_module("tracy.device_post_proc_config").default_setup()
    assert setup.deviceInputLog == common.PROFILER_LOGS_DIR / common.PROFILER_DEVICE_SIDE_LOG


def test_completion_in_a_shell_lists_operations():
    code = "import ttnn, rlcompleter; c = rlcompleter.Completer({'ttnn': ttnn}); print(c.complete('ttnn.digamm', 0))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": f"{SHIMS}:{ROOT}", "PATH": ""},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.startswith("ttnn.digamma"), done.stderr


IPYTHON = """
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
shell.run_cell("import ttnn, ttml").raise_error()
with provisionalcompleter():
    for line in sys.argv[1:]:
        print(*[found.text for found in shell.Completer.completions(line, len(line))])
"""


@pytest.mark.wide
def test_completion_in_ipython(tmp_path: Path):
    """As `ttnn.<tab>` does: operations, namespaces, classes and their methods, arguments of a call."""
    pytest.importorskip("IPython")
    wanted = {
        "ttnn.digamm": "digamma",
        "ttnn.experimental.all_gather_as": "all_gather_async",
        "ttnn.transformer.scaled_dot_product_attention_dec": "scaled_dot_product_attention_decode",
        "ttnn.MeshSh": "MeshShape",
        "ttnn.Tensor.memory_c": "memory_config",
        "ttnn.add(output_t": "output_tensor=",
        "ttml.autog": "autograd",
    }
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{IPYTHON}", *wanted],
        env={"PYTHONPATH": f"{SHIMS}:{ROOT}", "PATH": "", "IPYTHONDIR": str(tmp_path), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    found = dict(zip(wanted, map(str.split, done.stdout.splitlines()), strict=True))
    assert {line: name for line, name in wanted.items() if name not in found[line]} == {}, found


def test_native_modules_have_the_classes_of_their_operations(ttnn: ModuleType) -> None:
    native = ttnn._ttnn.operations
    for path in ("core.WormholeComputeKernelConfig", "conv.Conv2dConfig", "transformer.SDPAProgramConfig"):
        module, name = path.split(".")
        assert getattr(getattr(native, module), name) is getattr(ttnn, name)
    assert [each.name for each in native.moreh.MorehSoftmaxOp] == ["SOFTMAX", "SOFTMIN", "LOGSOFTMAX"]
