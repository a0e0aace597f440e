"""Fixtures by the names that the reference's test suites use: seeds, architectures, options.

A test file of theirs finds here what their conftest gives it. Devices and meshes are in `device_fixtures`. Source: the suites of reference library 0.81.1.
"""

from __future__ import annotations

import gc
import os
import random
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tt_run.testing.device_fixtures import library

SEED = 213919


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
    ttnn = library()
    return bool(ttnn.GetNumPCIeDevices() == 1 and ttnn.GetNumAvailableDevices() == 2)


@pytest.fixture(scope="session")
def galaxy_type() -> str | None:
    """`6U` on a Galaxy, None elsewhere."""
    ttnn = library()
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
    return str(request.config.getoption("--tt-arch") or library().get_arch_name())


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
