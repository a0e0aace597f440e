"""Fixtures that open devices and meshes for a test and close them after it, by the names of the reference's test suites.

A mesh that needs more devices than the emulated system has skips its test, as on hardware. Source: the suites of reference library 0.81.1.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any

import pytest

from tt_run.testing.cache_entries import CacheEntriesCounter

_ROUTING = (
    "fabric_config",
    "reliability_mode",
    "fabric_tensix_config",
    "fabric_manager",
    "fabric_router_config",
)


_EXACTLY = "require_exact_physical_num_devices"


def library() -> Any:
    """The emulated library, which is on the path only where the plugin has put it."""
    return import_module("ttnn")


@contextmanager
def _opened(open_it: Callable[..., Any], params: dict[str, Any], **place: Any) -> Iterator[Any]:
    """A mesh with the parameters of a test, its fabric set before and taken down after."""
    ttnn = library()
    params = dict(params)
    params.pop(_EXACTLY, None)
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
    ttnn = library()
    available = _devices()
    if shape[0] * shape[1] > available:
        pytest.skip(f"a mesh of {shape[0]}x{shape[1]} needs more devices than the {available} of this system")
    if params.get(_EXACTLY) and shape[0] * shape[1] != available:
        pytest.skip(
            f"{_EXACTLY}: a mesh of {shape[0]}x{shape[1]} is not all of the {available} devices of this system"
        )
    return _opened(ttnn.open_mesh_device, params, mesh_shape=ttnn.MeshShape(*shape), **place)


def _devices() -> int:
    return int(library().SystemMeshDescriptor().shape().mesh_size())


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


@contextmanager
def _one_device(request: pytest.FixtureRequest, params: dict[str, Any]) -> Iterator[Any]:
    """The device of `--device-id`, the default one while it is open."""
    ttnn = library()
    before = ttnn.GetDefaultDevice()
    with _opened(ttnn.open_device, params, device_id=int(request.config.getoption("device_id"))) as opened:
        ttnn.SetDefaultDevice(opened)
        yield opened
        ttnn.SetDefaultDevice(before)


@pytest.fixture
def device(request: pytest.FixtureRequest, device_params: dict[str, Any]) -> Iterator[Any]:
    """One device, by default the first; with `@pytest.mark.use_module_device`, the same for all tests of a file.

    Raises ValueError when a test with that mark is parametrised with `device_params` too.
    """
    if request.node.get_closest_marker("use_module_device") is not None:
        if device_params != _marked(request):
            raise ValueError(
                "a device of use_module_device is opened once: device_params cannot differ per test"
            )
        shared = request.getfixturevalue("device_module")
        library().SetDefaultDevice(shared)
        yield shared
        return
    with _one_device(request, device_params) as opened:
        yield opened


@pytest.fixture(scope="module")
def device_module(request: pytest.FixtureRequest) -> Iterator[Any]:
    """One device for all tests of a file; `pytestmark = pytest.mark.use_module_device({…})` says what it is opened with."""
    with _one_device(request, _marked(request)) as opened:
        yield opened


@pytest.fixture
def reset_device(
    request: pytest.FixtureRequest, device_params: dict[str, Any]
) -> Iterator[Callable[[Any], Any]]:
    """`device = reset_device(device)` closes a device and opens it afresh."""
    with ExitStack() as opened:

        def reset(device: Any) -> Any:
            library().close_device(device)
            return opened.enter_context(_one_device(request, device_params))

        yield reset


@pytest.fixture
def pcie_devices(device_params: dict[str, Any]) -> Iterator[list[Any]]:
    """Every PCIe device by itself."""
    ttnn = library()
    opened = ttnn.CreateDevices(list(range(ttnn.GetNumPCIeDevices())), **device_params)
    yield list(opened.values())
    ttnn.CloseDevices(opened)


@pytest.fixture
def all_devices(device_params: dict[str, Any]) -> Iterator[list[Any]]:
    """Every device by itself."""
    ttnn = library()
    opened = ttnn.CreateDevices(list(range(ttnn.GetNumAvailableDevices())), **device_params)
    yield list(opened.values())
    ttnn.CloseDevices(opened)


@pytest.fixture
def mesh_device(request: pytest.FixtureRequest, device_params: dict[str, Any]) -> Iterator[Any]:
    """The mesh that a test is parametrised with: `(rows, columns)`, or a number of devices in one row, by default all."""
    asked = getattr(request, "param", None)
    if isinstance(asked, (tuple, list)):
        shape = (int(asked[0]), int(asked[1]))
    else:
        shape = (1, int(asked) if asked is not None else _devices())
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
    ttnn = library()
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


@pytest.fixture
def ensure_devices_tg() -> None:
    """Fails a test on a system that has not the 32 devices of a Galaxy."""
    assert _devices() == 32, (
        f"this test needs 32 devices, and the system has {_devices()}: pytest --tt-system galaxy"
    )


@pytest.fixture(autouse=True)
def reset_default_device(request: pytest.FixtureRequest) -> Iterator[None]:
    """The default device is what it was before the test, unless it is marked `no_reset_default_device`."""
    # A test that does not use the library does not load it.
    if "ttnn" not in sys.modules or request.node.get_closest_marker("no_reset_default_device") is not None:
        yield
        return
    ttnn = library()
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
