"""Arguments of convolutions and pools, read from one run of a torch model."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch")

from tt_run.runtime.tensor.model_parameters import module_arguments as arguments  # noqa: E402
from tt_run.runtime.tensor.model_parameters.preprocessing import preprocess_model  # noqa: E402
from tt_run.runtime.tensor.tensor import Tensor  # noqa: E402


class Model(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.stem = torch.nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.body = torch.nn.Sequential(torch.nn.Conv2d(8, 4, 1), torch.nn.ReLU(), torch.nn.MaxPool2d(2))
        self.groups = torch.nn.GroupNorm(2, 4)
        self.head = torch.nn.Linear(4 * 16, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.groups(self.body(self.norm(self.stem(x))))
        return self.head(x.flatten(1))


IMAGE = torch.zeros(2, 3, 16, 16)


def test_each_call_tells_its_arguments() -> None:
    found = arguments.infer_ttnn_module_args(model=Model(), run_model=lambda m: m(IMAGE), device="chip")
    stem = found["stem"]
    assert isinstance(stem, arguments.Conv2dArgs)
    assert (stem.batch_size, stem.input_height, stem.in_channels, stem.stride, stem.device) == (
        2,
        16,
        3,
        (2, 2),
        "chip",
    )
    assert found.body[0] is found.body["0"]
    assert (found.body[2].input_channels, found.body[2].input_width) == (4, 8)
    assert (found.groups.num_groups, found.groups.input_height) == (2, 4)
    assert arguments.infer_ttnn_module_args(model=Model(), run_model=None, device=None) is None
    with pytest.raises(KeyError):
        _ = stem.nothing


def test_arguments_stand_beside_parameters() -> None:
    given: dict[str, object] = {}

    def custom(module: torch.nn.Module, name: str, ttnn_module_args: object) -> dict[str, object] | None:
        given[name] = ttnn_module_args
        return {"weight": module.weight} if isinstance(module, torch.nn.Conv2d) else None

    found = preprocess_model(
        initialize_model=lambda: Model().eval(), custom_preprocessor=custom, run_model=lambda m: m(IMAGE)
    )
    assert found.stem.ttnn_module_args is given["stem"]
    assert "device" not in found.stem.ttnn_module_args
    assert isinstance(found.head.weight, Tensor)
    assert (found.body[0].ttnn_module_args.in_channels, given["body.0"]) == (
        8,
        found.body[0].ttnn_module_args,
    )


def test_arguments_of_what_is_no_module() -> None:
    with pytest.raises(ValueError, match=r"Conflict at model\.0\.scale"):
        arguments.merge_ttnn_module_args_into_parameters(
            {0: {"scale": 1.0}}, {0: {"scale": arguments.ModuleArgs()}}, ["model"]
        )


def test_a_batch_norm_folds_into_its_convolution() -> None:
    torch.manual_seed(0)
    model = Model().eval()
    model.norm.running_mean.normal_()
    model.norm.running_var.uniform_(0.5, 2)
    weight, bias = arguments.fold_batch_norm2d_into_conv2d(model.stem, model.norm)
    x = torch.randn(2, 3, 16, 16)
    folded = torch.nn.functional.conv2d(x, weight, bias, stride=2, padding=1)
    torch.testing.assert_close(folded, model.norm(model.stem(x)), rtol=1e-4, atol=1e-5)
    with pytest.raises(RuntimeError, match="track_running_stats"):
        arguments.fold_batch_norm2d_into_conv2d(
            model.stem, torch.nn.BatchNorm2d(8, track_running_stats=False)
        )
