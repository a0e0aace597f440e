"""The cache of converted models: kept once, read afterwards, on every rank by itself (reference library 0.81.1)."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.runtime.mpi import ROOT, mpirun, run_ranks
from tests.runtime.tensor.model_parameters.test_preprocessing import Linear, Model
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.settings import CONFIG, manage_config
from tt_run.runtime.tensor.model_parameters.containers import ParameterDict, ParameterList
from tt_run.runtime.tensor.model_parameters.preprocessing import preprocess_model_parameters
from tt_run.runtime.tensor.tensor import Tensor


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Iterator[Path]:
    with manage_config("enable_model_cache", True), manage_config("model_cache_path", tmp_path / "models"):
        yield tmp_path / "models"


def never() -> Any:
    raise AssertionError("the model was made although its parameters are kept")


def leaves(value: Any) -> Iterator[Any]:
    items = value.values() if isinstance(value, ParameterDict) else value
    for item in items:
        if isinstance(item, (ParameterDict, ParameterList)):
            yield from leaves(item)
        else:
            yield item.to_numpy() if isinstance(item, Tensor) else item


def same(one: Any, other: Any) -> bool:
    pairs = zip(leaves(one), leaves(other), strict=True)
    return repr(one) == repr(other) and all(np.array_equal(a, b) for a, b in pairs)


def test_parameters_are_read_instead_of_converted(folder: Path) -> None:
    made = preprocess_model_parameters(model_name="some/model", version="1", initialize_model=Model)
    files = {str(path.relative_to(folder)) for path in folder.rglob("*.tensorbin")}
    assert {"some_model/out/weight.tensorbin", "some_model/layers/1/norm/bias.tensorbin"} <= files
    assert (folder / "some_model" / "version.txt").read_text() == "1"
    for initialize in (never, None):
        assert same(
            made,
            preprocess_model_parameters(model_name="some/model", version="1", initialize_model=initialize),
        )


def test_they_are_moved_to_the_device(mesh: MeshDevice) -> None:
    preprocess_model_parameters(model_name="m", initialize_model=Model)
    found: Any = preprocess_model_parameters(model_name="m", initialize_model=never, device=mesh)
    assert found.out.weight.device() is mesh
    assert np.array_equal(found.out.weight.shards.of(7), Linear(8, 2).weight.T)


def test_another_version_is_converted_again() -> None:
    preprocess_model_parameters(model_name="m", version="1", initialize_model=Model)
    with pytest.raises(RuntimeError, match=r"Cached weights for the model m \(version 2\) don't exist!"):
        preprocess_model_parameters(model_name="m", version="2")
    found: Any = preprocess_model_parameters(
        model_name="m", version="2", initialize_model=lambda: Linear(2, 3)
    )
    assert list(found) == ["weight", "bias"]
    assert same(found, preprocess_model_parameters(model_name="m", version="2"))


def test_nothing_is_kept_without_a_name_or_the_setting(folder: Path) -> None:
    preprocess_model_parameters(initialize_model=Model)
    with manage_config("enable_model_cache", False):
        preprocess_model_parameters(model_name="m", initialize_model=Model)
    assert not folder.exists()


@pytest.mark.parametrize("name", ["tree.json", "out/weight.tensorbin"])
def test_damaged_files_are_made_again(folder: Path, name: str, logged: io.StringIO) -> None:
    made = preprocess_model_parameters(model_name="m", initialize_model=Model)
    (folder / "m" / name).write_text("x")
    assert same(made, preprocess_model_parameters(model_name="m", initialize_model=Model))
    assert "Converting the model again" in logged.getvalue()
    assert same(made, preprocess_model_parameters(model_name="m", initialize_model=never))


def test_arrays_that_were_not_converted_are_kept_too() -> None:
    options: dict[str, Any] = {"model_name": "m", "convert_to_ttnn": lambda module, name: name != "out"}
    made: Any = preprocess_model_parameters(initialize_model=Model, **options)
    found: Any = preprocess_model_parameters(initialize_model=never, **options)
    assert isinstance(found.out.weight, np.ndarray)
    assert same(made, found)


def test_what_is_no_tensor_cannot_be_kept(folder: Path) -> None:
    with pytest.raises(RuntimeError, match="cannot keep parameter scale/factor: it is a float"):
        preprocess_model_parameters(
            model_name="m",
            initialize_model=Model,
            custom_preprocessor=lambda model, name: {"scale": {"factor": 0.5}},
        )
    assert not list(folder.iterdir())


def test_settings_that_do_not_exist_are_named() -> None:
    with pytest.raises(AttributeError, match="'enable_model_cach'; did you mean enable_model_cache"):
        CONFIG.enable_model_cach = True
    with pytest.raises(AttributeError, match="cache_path"), manage_config("cache_pth", "x"):
        pass


def shown() -> None:
    """Print what this rank's devices hold of a weight that is made, and of the one that is kept."""
    import ttnn

    ttnn.CONFIG.enable_model_cache, ttnn.CONFIG.model_cache_path = True, Path("models")
    device = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
    for initialize in (lambda: Linear(4, 8), None):
        with ttnn.distribute(ttnn.ShardTensorToMesh(device, dim=-1)):
            found = ttnn.model_preprocessing.preprocess_model_parameters(
                model_name="m", initialize_model=initialize, device=device
            )
        rows = found.weight.shards.each()
        print(*zip(device.local_positions, (row.ravel().tolist() for row in rows), strict=True))
    ttnn.close_mesh_device(device)


@pytest.mark.wide
@pytest.mark.skipif(mpirun() is None, reason="no mpirun beside this Python or in PATH")
def test_ranks_keep_what_they_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    descriptor = str(ROOT / "configs" / "mgd" / "t3k_2x4_two_hosts.textproto")
    program = f"import os\nos.chdir({str(tmp_path)!r})\nfrom tests.runtime.tensor.model_parameters.test_cache import shown\nshown()\n"
    done = run_ranks(2, program, env={"TT_MESH_GRAPH_DESC_PATH": descriptor}, timeout=60).check()
    for rank in done.ranks:
        made, kept = rank.stdout.splitlines()
        assert made == kept and made.count("[") == 4
    assert {path.name for path in (tmp_path / "models" / "m").iterdir()} == {"rank0_of_2", "rank1_of_2"}
