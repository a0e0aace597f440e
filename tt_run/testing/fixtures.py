"""Fixtures by the names that the reference's test suites use: devices and meshes opened and closed, seeds, architectures.

A test file of theirs finds here what their conftest gives it. A mesh that needs more devices than the emulated system has skips
its test, as on hardware. Source: the suites of reference library 0.81.1.
"""

from __future__ import annotations

import gc
import os
import random
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tt_run.testing.cache_entries import CacheEntriesCounter

SEED = 213919
_ROUTING = (
    "fabric_config",
    "reliability_mode",
    "fabric_tensix_config",
    "fabric_manager",
    "fabric_router_config",
)


def _ttnn() -> Any:
    """The emulated library, which is on the path only where the plugin has put it."""
    return import_module("ttnn")


@contextmanager
def _opened(open_it: Callable[..., Any], params: dict[str, Any], **place: Any) -> Iterator[Any]:
    """A mesh with the parameters of a test, its fabric set before and taken down after."""
    ttnn = _ttnn()
    params = dict(params)
    axis = params.pop("dispatch_core_axis", None)
    kind = params.pop("dispatch_core_type", None)
    if axis is not None or kind is not None:
        params["dispatch_core_config"] = ttnn.DispatchCoreConfig(kind, axis)
    routing = {name: params.pop(name, None) for name in _ROUTING}
    if routing["fabric_config"] is True:
        routing["fabric_config"] = ttnn.FabricConfig.FABRIC_1D
    if routing["fabric_config"]:
        reliability = routing["reliability_mode"] or ttnn.FabricReliabilityMode.STRICT_INIT
        ttnn.set_fabric_config(routing["fabric_config"], reliability)
    mesh = open_it(**place, **params)
    mesh.cache_entries_counter = CacheEntriesCounter(mesh)
    try:
        yield mesh
    finally:
        for submesh in mesh.get_submeshes():
            ttnn.close_mesh_device(submesh)
        ttnn.close_mesh_device(mesh)
        if routing["fabric_config"]:
            ttnn.set_fabric_config(ttnn.FabricConfig.DISABLED)


def _mesh(shape: tuple[int, int], params: dict[str, Any], **place: Any) -> Any:
    """A mesh of a shape, or a skip where the system has fewer devices."""
    ttnn = _ttnn()
    available = _devices()
    if shape[0] * shape[1] > available:
        pytest.skip(f"a mesh of {shape[0]}x{shape[1]} needs more devices than the {available} of this system")
    return _opened(ttnn.open_mesh_device, params, mesh_shape=ttnn.MeshShape(*shape), **place)


def _devices() -> int:
    return int(_ttnn().SystemMeshDescriptor().shape().mesh_size())


@pytest.fixture
def reset_seeds() -> None:
    """The same random numbers in each test."""
    import numpy as np

    random.seed(SEED)
    np.random.seed(SEED)
    try:
        import torch
    except ImportError:
        return
    torch.manual_seed(SEED)


@pytest.fixture
def function_level_defaults(reset_seeds: None) -> None:
    """The defaults of each test: its seeds."""


@pytest.fixture
def is_ci_env() -> bool:
    """Whether CI runs this."""
    return os.environ.get("CI") == "true"


@pytest.fixture
def is_ci_v2_env() -> bool:
    """Whether the second CI of the reference runs this."""
    return "TT_GH_CI_INFRA" in os.environ


@pytest.fixture
def is_single_card_n300() -> bool:
    """Whether the system is one n300: two chips behind one PCIe device."""
    ttnn = _ttnn()
    return bool(ttnn.GetNumPCIeDevices() == 1 and ttnn.GetNumAvailableDevices() == 2)


@pytest.fixture(scope="session")
def galaxy_type() -> str | None:
    """`6U` on a Galaxy, None elsewhere."""
    ttnn = _ttnn()
    kinds = ttnn.cluster.ClusterType
    return "6U" if ttnn.cluster.get_cluster_type() in (kinds.GALAXY, kinds.BLACKHOLE_GALAXY) else None


@pytest.fixture(scope="session")
def model_location_generator() -> Callable[..., Any]:
    """Where a model's files are: the emulation has none of the laboratory's folders, so a model is known by its name."""
    return lambda model_version, model_subdir="", **_: model_version


@pytest.fixture(scope="session")
def get_tt_cache_path(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A folder for converted weights of a model."""

    def folder(model_version: str, model_subdir: str = "", default_dir: str = "") -> Path:
        base = Path(default_dir) if default_dir else tmp_path_factory.getbasetemp() / "tt-cache"
        path = base / model_subdir / model_version
        path.mkdir(parents=True, exist_ok=True)
        return path

    return folder


@pytest.fixture
def input_path(request: pytest.FixtureRequest) -> Any:
    """The value of --input-path."""
    return request.config.getoption("--input-path")


@pytest.fixture
def silicon_arch_name(request: pytest.FixtureRequest) -> str:
    """The architecture under test."""
    return str(request.config.getoption("--tt-arch") or _ttnn().get_arch_name())


@pytest.fixture
def grid_size(request: pytest.FixtureRequest) -> tuple[int, int] | None:
    """The value of --grid-size as rows and columns of cores; None without it. Raises ValueError for another form than 8x8."""
    asked = request.config.getoption("--grid-size")
    if not asked:
        return None
    form = re.fullmatch(r"(\d+)x(\d+)", asked)
    if form is None:
        raise ValueError(f"--grid-size {asked}: rows x columns of cores, such as 8x8, are expected")
    return int(form[1]), int(form[2])


@pytest.fixture
def determinism_check_interval(request: pytest.FixtureRequest) -> int:
    """After how many rounds a result is compared with the first; -1 without --determinism-check-interval."""
    return int(request.config.getoption("--determinism-check-interval") or -1)


@pytest.fixture
def didt_workload_iterations(request: pytest.FixtureRequest) -> int:
    """Rounds of a test of power: 100,000 without --didt-workload-iterations, as in the reference's suites."""
    return int(request.config.getoption("--didt-workload-iterations") or 100_000)


def _only(arch: str, name: str) -> str:
    if arch != name:
        pytest.skip(f"this test is for {name}; the system has {arch}")
    return arch


@pytest.fixture
def silicon_arch_wormhole_b0(silicon_arch_name: str) -> str:
    """Accepted on every architecture, as the reference's fixture is: meshes of both kinds ask for it."""
    return silicon_arch_name


@pytest.fixture
def silicon_arch_blackhole(silicon_arch_name: str) -> str:
    """Skips the test where the system has no Blackhole."""
    return _only(silicon_arch_name, "blackhole")


@pytest.fixture
def silicon_arch_grayskull(silicon_arch_name: str) -> str:
    """Skips the test: no system here has Grayskull."""
    return _only(silicon_arch_name, "grayskull")


@pytest.fixture
def device_params(request: pytest.FixtureRequest) -> dict[str, Any]:
    """What a test asks of its device, by indirect parametrisation or with `@pytest.mark.use_module_device({…})`."""
    return dict(getattr(request, "param", None) or _marked(request))


def _marked(request: pytest.FixtureRequest) -> dict[str, Any]:
    """What `use_module_device` says a device is opened with: its dictionary, by place or as `device_params`."""
    mark = request.node.get_closest_marker("use_module_device")
    if mark is None:
        return {}
    return next((given for given in (*mark.args, *mark.kwargs.values()) if isinstance(given, dict)), {})


@pytest.fixture
def device(request: pytest.FixtureRequest, device_params: dict[str, Any]) -> Iterator[Any]:
    """One device, by default the first."""
    ttnn = _ttnn()
    number = int(request.config.getoption("device_id"))
    with _opened(ttnn.open_device, device_params, device_id=number) as opened:
        ttnn.SetDefaultDevice(opened)
        yield opened


@pytest.fixture(scope="module")
def device_module(request: pytest.FixtureRequest) -> Iterator[Any]:
    """One device for all tests of a file; `pytestmark = pytest.mark.use_module_device({…})` says what it is opened with."""
    ttnn = _ttnn()
    number = int(request.config.getoption("device_id"))
    with _opened(ttnn.open_device, _marked(request), device_id=number) as opened:
        ttnn.SetDefaultDevice(opened)
        yield opened


@pytest.fixture
def pcie_devices(device_params: dict[str, Any]) -> Iterator[list[Any]]:
    """Every PCIe device by itself."""
    ttnn = _ttnn()
    opened = ttnn.CreateDevices(list(range(ttnn.GetNumPCIeDevices())), **device_params)
    yield list(opened.values())
    ttnn.CloseDevices(opened)


@pytest.fixture
def all_devices(device_params: dict[str, Any]) -> Iterator[list[Any]]:
    """Every device by itself."""
    ttnn = _ttnn()
    opened = ttnn.CreateDevices(list(range(ttnn.GetNumAvailableDevices())), **device_params)
    yield list(opened.values())
    ttnn.CloseDevices(opened)


@pytest.fixture
def mesh_device(request: pytest.FixtureRequest, device_params: dict[str, Any]) -> Iterator[Any]:
    """The mesh that a test is parametrised with: `(rows, columns)`, or a number of devices in one row, at most all."""
    asked = getattr(request, "param", None)
    if isinstance(asked, (tuple, list)):
        shape = (int(asked[0]), int(asked[1]))
    else:
        shape = (1, min(int(asked), _devices()) if asked is not None else _devices())
    with _mesh(shape, device_params) as opened:
        yield opened


@pytest.fixture
def n300_mesh_device(device_params: dict[str, Any]) -> Iterator[Any]:
    """Two devices in a row."""
    with _mesh((1, 2), device_params) as opened:
        yield opened


@pytest.fixture
def t3k_mesh_device(device_params: dict[str, Any]) -> Iterator[Any]:
    """Eight devices in a row."""
    with _mesh((1, 8), device_params) as opened:
        yield opened


@pytest.fixture
def t3k_single_board_mesh_device(device_params: dict[str, Any]) -> Iterator[Any]:
    """Two devices of a machine with eight."""
    with _mesh((1, 2), device_params) as opened:
        yield opened


@pytest.fixture
def tg_mesh_device(device_params: dict[str, Any]) -> Iterator[Any]:
    """A Galaxy of eight rows and four columns."""
    with _mesh((8, 4), device_params) as opened:
        yield opened


@pytest.fixture
def pcie_mesh_device(device_params: dict[str, Any]) -> Iterator[Any]:
    """The four PCIe devices of a machine with eight, as one row."""
    ttnn = _ttnn()
    if ttnn.GetNumPCIeDevices() != 4:
        pytest.skip("this mesh is made of exactly four PCIe devices")
    with _mesh((2, 2), device_params) as opened:
        opened.reshape(ttnn.MeshShape(1, 4))
        yield opened


@pytest.fixture
def bh_1d_mesh_device(silicon_arch_blackhole: str, device_params: dict[str, Any]) -> Iterator[Any]:
    """All Blackhole devices as one column."""
    with _mesh((_devices(), 1), device_params) as opened:
        yield opened


@pytest.fixture
def bh_2d_mesh_device(silicon_arch_blackhole: str, device_params: dict[str, Any]) -> Iterator[Any]:
    """All Blackhole devices as a grid: 4x2 of eight, 8x4 of 32, else one column."""
    count = _devices()
    with _mesh({8: (4, 2), 32: (8, 4)}.get(count, (count, 1)), device_params) as opened:
        yield opened


@pytest.fixture(autouse=True)
def reset_default_device(request: pytest.FixtureRequest) -> Iterator[None]:
    """The default device is what it was before the test."""
    if "ttnn" not in sys.modules:  # a test that does not use it does not load it
        yield
        return
    ttnn = _ttnn()
    before = ttnn.GetDefaultDevice()
    yield
    ttnn.SetDefaultDevice(before)


_DEVICE_FIXTURES = (
    "device",
    "all_devices",
    "pcie_devices",
    "mesh_device",
    "n300_mesh_device",
    "t3k_mesh_device",
    "pcie_mesh_device",
)


@pytest.fixture
def use_program_cache(request: pytest.FixtureRequest) -> Iterator[None]:
    """The program caches of a test's devices are on for its length."""
    found: list[Any] = []
    for name in _DEVICE_FIXTURES:
        if name in request.fixturenames:
            value = request.getfixturevalue(name)
            found += value if isinstance(value, list) else [value]
    for opened in found:
        opened.enable_program_cache()
    yield
    for opened in found:
        opened.disable_and_clear_program_cache()


@pytest.fixture
def enable_async_mode(request: pytest.FixtureRequest) -> Any:
    """The value that a test is parametrised with; work is done when it is issued in either mode."""
    return getattr(request, "param", False)


@pytest.fixture
def clear_compile_cache() -> None:
    """There is no cache of compiled kernels to clear."""


@pytest.fixture
def tracy_profile() -> Iterator[None]:
    """The test is one region of the timeline."""
    with import_module("tracy").Profiler():
        yield


@pytest.fixture
def ensure_gc() -> None:
    """What earlier tests left is collected before this one."""
    gc.collect()


@pytest.fixture
def expect_error() -> Callable[..., AbstractContextManager[pytest.ExceptionInfo[BaseException]]]:
    """`with expect_error(RuntimeError, "text"):` passes when that error is raised and its message has the text, or matches it.

    `as caught` has the error in `caught.value` after the block, as that of `pytest.raises`.
    """

    @contextmanager
    def expected(kind: type[BaseException], text: str = "") -> Iterator[pytest.ExceptionInfo[BaseException]]:
        with pytest.raises(kind) as caught:
            yield caught
        message = str(caught.value)
        assert text in message or re.search(text, message), f"{text!r} is not in the error: {message}"

    return expected
