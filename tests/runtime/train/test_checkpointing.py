"""`ttml.checkpointing` and `ttml.Sharding`: saved on one mesh, restored on another to the same bits; files that are none, or more than data."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.e2e.launch import tt_run
from tt_run.runtime.tensor.spec.topology import PlacementReplicate, TensorTopology
from tt_run.runtime.train import checkpointing
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.graph import PreferredPrecision
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.modules.base import AbstractModuleBase, NamedParameters
from tt_run.runtime.train.modules.linear import LinearLayer
from tt_run.runtime.train.ops.unary import mean
from tt_run.runtime.train.optimizers import registry
from tt_run.runtime.train.parallel import distributed, fsdp, named_mesh
from tt_run.runtime.train.parallel.sharding import ReplicaMismatchError, Sharding

WIDTH = 8
SHARED = Path(__file__).parent / "programs" / "shared_checkpoint.py"


class TwoLayers(AbstractModuleBase):
    def __init__(self) -> None:
        super().__init__()
        self.fc1 = LinearLayer(WIDTH, WIDTH)
        self.fc2 = LinearLayer(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.fc2(self.fc1(x))
        return out


def trained(settings: dict[str, Any], steps: int, cut: bool = False) -> tuple[TwoLayers, Any]:
    model = TwoLayers()
    if cut:
        fsdp.fully_shard(model)
    optimizer = registry.create_optimizer(settings, model.parameters())
    step(model, optimizer, steps)
    return model, optimizer


def step(model: TwoLayers, optimizer: Any, steps: int = 1) -> None:
    for number in range(steps):
        optimizer.zero_grad()
        x = np.random.default_rng(number).standard_normal((1, 1, WIDTH, WIDTH), np.float32)
        mean(model(Tensor.from_numpy(x))).backward()
        optimizer.step()
        AutoContext.get_instance().reset_graph()


def arrays(model: TwoLayers) -> dict[str, np.ndarray]:
    return {name: Sharding.from_tensor(t).gather(t) for name, t in model.parameters().items()}


def on_mesh(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("TT_RUN_SYSTEM", "t3000")
    named_mesh.close_device_mesh()
    named_mesh.open_device_mesh(named_mesh.Mesh((1, columns), ("_", "fsdp")))


@pytest.mark.parametrize(
    "settings",
    [
        {"type": "AdamW", "lr": 0.01},
        {"type": "AdamWFullPrecision", "lr": 0.01},
        {"type": "MuonWithAdamW", "adamw": {"lr": 0.01}},
    ],
    ids=lambda settings: settings["type"],
)
def test_a_run_goes_on_from_its_checkpoint(
    settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_mesh(monkeypatch, 1)
    model, optimizer = trained(settings, 3)
    path = str(tmp_path / "run.pkl")
    checkpointing.save_checkpoint(
        path, header={"step": 3}, model_params=model.parameters(), optimizer=optimizer
    )
    assert [file.name for file in tmp_path.iterdir()] == ["run.pkl"]
    again, other = trained(settings, 1)
    header = checkpointing.load_checkpoint(path, model_params=again.parameters(), optimizer=other)
    assert header == checkpointing.read_header(path) == {"step": 3}
    assert other.get_steps() == 3
    for pair in ((model, optimizer), (again, other)):
        step(*pair, 2)
    for name, array in arrays(model).items():
        assert array.tobytes() == arrays(again)[name].tobytes(), name


def test_cut_tensors_are_saved_whole_and_laid_out_as_the_live_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_mesh(monkeypatch, 2)
    model, optimizer = trained({"type": "AdamW"}, 2, cut=True)
    tensor = model.fc1.weight.tensor
    layout = Sharding.from_tensor(tensor)
    assert layout.describe() == "replicated over axis 0 (1), cut on dim 2 over axis 1 (2)"
    back = Tensor.from_numpy(layout.gather(tensor), mapper=layout.derive_mapper())
    assert back.shape() == tensor.shape() == [1, 1, WIDTH // 2, WIDTH]
    path = str(tmp_path / "cut.pkl")
    checkpointing.save_checkpoint(path, model_params=model.parameters(), optimizer=optimizer)
    with open(path, "rb") as stream:
        manifest = pickle.load(stream)["manifest"]
        first = pickle.load(stream)
    assert first.dtype == ml_dtypes.bfloat16 and first.shape == (1, 1, WIDTH, WIDTH)
    assert {"beta1", "exp_avg", "exp_avg_sq", "lr", "steps"} <= manifest["optimizer"].keys()
    model.unshard()
    assert model.fc1.weight.tensor.shape() == [1, 1, WIDTH, WIDTH]
    assert optimizer.get_state_dict()["exp_avg"]["TwoLayers/fc1/weight"].shape() == tensor_shape(layout)
    model.reshard()
    saved = arrays(model)
    on_mesh(monkeypatch, 1)
    whole, other = trained({"type": "AdamW"}, 1)
    checkpointing.load_checkpoint(path, model_params=whole.parameters(), optimizer=other)
    assert {n: a.tobytes() for n, a in arrays(whole).items()} == {n: a.tobytes() for n, a in saved.items()}
    assert Sharding.from_tensor(whole.fc1.weight.tensor) == Sharding()


def tensor_shape(layout: Sharding) -> list[int]:
    assert layout.dist_shape == (1, 2)
    return [1, 1, WIDTH // 2, WIDTH]


def test_files_that_are_none_and_models_that_do_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_mesh(monkeypatch, 1)
    bad = tmp_path / "bad.pkl"
    for content, words in (
        (b"not a pickle at all", "not a checkpoint"),
        (b"", "not a checkpoint"),
        (pickle.dumps({"not": "one"}), "it has no format, header and manifest"),
        (pickle.dumps({"format": 9, "header": {}, "manifest": {}}), "format 9, this program reads 1"),
        (pickle.dumps(os.getcwd), r"names posix\.getcwd, which is neither an array nor data"),
    ):
        bad.write_bytes(content)
        with pytest.raises(ValueError, match=words):
            checkpointing.read_header(str(bad))
    path = str(tmp_path / "one.pkl")
    model = TwoLayers()
    parameters = model.parameters()
    checkpointing.save_checkpoint(path, model_params=parameters)
    with pytest.raises(ValueError, match="holds no optimizer; it holds model"):
        checkpointing.load_checkpoint(path, optimizer=object())
    with pytest.raises(RuntimeError, match=r"1 checkpoint param\(s\) ignored"):
        checkpointing.load_checkpoint(path, model_params=NamedParameters(list(parameters.items())[1:]))
    wide = NamedParameters(parameters)
    wide["TwoLayers/fc1/weight"] = LinearLayer(WIDTH, 4).weight.tensor
    with pytest.raises(checkpointing.CheckpointShapeError, match=r"model\[TwoLayers/fc1/weight\]"):
        checkpointing.load_checkpoint(path, model_params=wide)
    with pytest.raises(
        checkpointing.CheckpointShapeError, match=r"expected_shapes says.* Nothing was written"
    ):
        checkpointing.save_checkpoint(
            path + "2", model_params=parameters, expected_shapes={"TwoLayers/fc1/weight": (1,)}
        )
    assert sorted(file.name for file in tmp_path.iterdir()) == ["bad.pkl", "one.pkl"]


def forged(tensor: Tensor) -> None:
    """Say that every device holds the whole of a cut tensor."""
    value = tensor.get_value(PreferredPrecision.NATIVE)
    topology = value.tensor_topology()
    copies = [PlacementReplicate() for _ in topology.placements()]
    value.update_tensor_topology(
        TensorTopology(topology.distribution_shape(), copies, topology.mesh_coords())
    )


def test_a_tensor_that_only_says_it_is_whole_is_not_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_mesh(monkeypatch, 2)
    model, optimizer = trained({"type": "AdamW"}, 1, cut=True)
    parameters, name = model.parameters(), "TwoLayers/fc1/weight"
    forged(parameters[name])
    assert Sharding.from_tensor(parameters[name]).is_fully_replicated
    path = tmp_path / "bad.pkl"

    def save(**options: Any) -> None:
        checkpointing.save_checkpoint(str(path), model_params=parameters, **options)

    said = rf"model\[{name}\] is labelled \[Replicate, Replicate\] over mesh \[1, 2\].* differs from copy 0.*Nothing was written"
    with pytest.raises(ReplicaMismatchError, match=said):
        save()
    monkeypatch.setenv(checkpointing.VERIFY_REPLICAS_ENV, "off")
    with pytest.raises(ReplicaMismatchError):
        save(verify_replicas=True)
    with pytest.raises(
        checkpointing.CheckpointShapeError, match=rf"exp_avg\[{name}\] gathers to .*model\[{name}\]"
    ):
        save(optimizer=optimizer)
    assert not list(tmp_path.iterdir())
    save()
    assert path.exists()


def test_a_placement_given_to_a_tensor_of_state_is_seen_when_it_is_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The optimizer shows one tensor for each state until it steps, not a copy for each who asks."""
    on_mesh(monkeypatch, 2)
    model, optimizer = trained({"type": "AdamW"}, 1, cut=True)
    name = "TwoLayers/fc1/weight"
    moment = optimizer.get_state_dict()["exp_avg"][name]
    forged(moment)
    path = tmp_path / "bad.pkl"
    with pytest.raises(ReplicaMismatchError, match=rf"optimizer/exp_avg\[{name}\] is labelled"):
        checkpointing.save_checkpoint(str(path), model_params=model.parameters(), optimizer=optimizer)
    step(model, optimizer)
    assert optimizer.get_state_dict()["exp_avg"][name] is not moment
    checkpointing.save_checkpoint(str(path), model_params=model.parameters(), optimizer=optimizer)


def test_what_lies_along_a_line_without_an_axis_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One placement over all devices, as the reference's mappers label it, while a named axis has one for each of the mesh's."""
    on_mesh(monkeypatch, 2)
    device, path = AutoContext.get_instance().get_device(), str(tmp_path / "halves.pkl")
    wide = np.arange(WIDTH * WIDTH, dtype=np.float32).reshape(1, 1, WIDTH, WIDTH)
    for mapper, label in (
        (distributed.shard_tensor_to_mesh_mapper(device, 3), "[Shard(3)] over mesh [2]"),
        (distributed.replicate_tensor_to_mesh_mapper(device), "[Replicate] over mesh [2]"),
        (distributed.shard_tensor_to_mesh_mapper(device, 3, 1), "[Replicate, Shard(3)] over mesh [1, 2]"),
    ):
        tensor = Tensor.from_numpy(wide, mapper=mapper)
        layout = Sharding.from_tensor(tensor)
        assert layout.label == label
        np.testing.assert_array_equal(layout.gather(tensor), wide)
        again = Tensor.from_numpy(wide, mapper=layout.derive_mapper())
        assert Sharding.from_tensor(again).label == label and again.shape() == tensor.shape()
    halves = Tensor.from_numpy(wide, mapper=distributed.shard_tensor_to_mesh_mapper(device, 3))
    forged(halves)
    with pytest.raises(
        ReplicaMismatchError, match=r"model\[halves\] is labelled \[Replicate\] over mesh \[2\]"
    ):
        checkpointing.save_checkpoint(path, model_params=NamedParameters([("halves", halves)]))


def test_state_is_held_against_the_shapes_of_parameters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_mesh(monkeypatch, 2)
    model, optimizer = trained({"type": "AdamW"}, 1, cut=True)
    parameters, path, short = model.parameters(), tmp_path / "whole.pkl", tmp_path / "short.pkl"
    some = NamedParameters(list(parameters.items())[1:])
    with pytest.warns(UserWarning, match="2 optimizer state tensor.*saved as-is: optimizer/exp_avg") as told:
        checkpointing.save_checkpoint(str(path), model_params=some, optimizer=optimizer)
    with pytest.warns(UserWarning, match="without model_params") as more:
        checkpointing.save_checkpoint(str(path), optimizer=optimizer)
    assert [each.filename for each in (*told, *more)] == [__file__] * 2
    with pytest.raises(ValueError, match="names tensors not in this checkpoint: no/such"):
        checkpointing.save_checkpoint(str(path), model_params=parameters, expected_shapes={"no/such": (1,)})
    checkpointing.save_checkpoint(str(path), model_params=parameters, optimizer=optimizer)
    for number, said in (
        (1, r"record of shape \(1, 1, 4, 8\) does not fit.*\(1, 1, 4, 8\) per-device"),
        (6, r"record has shape \(1, 1, 4, 8\), model\[.*\] in the same file has \(1, 1, 8, 8\)"),
    ):
        with path.open("rb") as stream:
            records = [pickle.load(stream) for _ in range(1 + 4 + 8)]
        cut_short = next(i for i in range(number, 13) if records[i].shape == (1, 1, WIDTH, WIDTH))
        records[cut_short] = records[cut_short][:, :, : WIDTH // 2]
        with short.open("wb") as stream:
            for record in records:
                pickle.dump(record, stream)
        with pytest.raises(checkpointing.CheckpointShapeError, match=said):
            checkpointing.load_checkpoint(str(short), model_params=parameters, optimizer=optimizer)


def test_ranks_that_share_a_mesh_name_one_file(tmp_path: Path) -> None:
    """And step with the bits of one rank, though the state of the optimizer has another type than its parameter."""
    found = []
    for words in (("--system", "n300"), ("--system", "n300", "--split", "1x2")):
        file = tmp_path / f"{len(words)}.pkl"
        ran = tt_run("--emulate", *words, "python", SHARED, file, timeout=60).check()
        found.append((set(ran.field("bits")), file.read_bytes()))
    assert found[0] == found[1] and len(found[0][0]) == 1
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".pkl", ".pkl"]
