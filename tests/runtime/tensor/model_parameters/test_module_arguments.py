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
    model.norm.eps = 0.25  # as much as is seen
    weight, bias = arguments.fold_batch_norm2d_into_conv2d(model.stem, model.norm)
    x = torch.randn(2, 3, 16, 16)
    folded = torch.nn.functional.conv2d(x, weight, bias, stride=2, padding=1)
    torch.testing.assert_close(folded, model.norm(model.stem(x)), rtol=1e-4, atol=1e-5)
    model.stem.bias = None
    weight, bias = arguments.fold_batch_norm2d_into_conv2d(model.stem, model.norm)
    folded = torch.nn.functional.conv2d(x, weight, bias, stride=2, padding=1)
    torch.testing.assert_close(folded, model.norm(model.stem(x)), rtol=1e-4, atol=1e-5)
    with pytest.raises(RuntimeError, match="track_running_stats"):
        arguments.fold_batch_norm2d_into_conv2d(
            model.stem, torch.nn.BatchNorm2d(8, track_running_stats=False)
        )


class Lists(torch.nn.Module):  # type: ignore[misc]
    """Calls members of its containers, one of them twice."""

    def __init__(self) -> None:
        super().__init__()
        self.stages = torch.nn.ModuleList([torch.nn.Conv2d(3, 3, 1), torch.nn.Sequential(torch.nn.ReLU())])
        self.up = torch.nn.ConvTranspose2d(3, 3, 2, stride=2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.up(self.stages[1](self.stages[0](self.stages[0](x)[..., :8])))


def test_arguments_nest_as_calls_do() -> None:
    """As the reference gives them: below the module that calls, by the last word of the name; the last call counts."""
    found = arguments.infer_ttnn_module_args(
        model=Lists(), run_model=lambda m: (m(IMAGE), m(x=IMAGE[:1])), device=None
    )
    assert list(found) == ["0", 0, "1", 1, "up"]
    assert (found[0].batch_size, found[0].input_height, found[0].input_width) == (1, 16, 8)
    assert found["1"] == {"0": {}, 0: {}}
    words = list(found.up)
    assert words[3:7] == ["stride", "padding", "output_padding", "dilation"]
    alone = arguments.infer_ttnn_module_args(
        model=torch.nn.Conv2d(3, 3, 1), run_model=lambda m: m(IMAGE), device=None
    )
    assert isinstance(alone, arguments.Conv2dArgs) and alone.input_height == 16


def test_an_encoder_calls_all_of_its_modules() -> None:
    encoder = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    with torch.no_grad():
        found = arguments.infer_ttnn_module_args(
            model=encoder, run_model=lambda m: m(torch.zeros(1, 3, 8)), device=None
        )
    assert list(found) == [
        "self_attn",
        "dropout1",
        "norm1",
        "linear1",
        "dropout",
        "linear2",
        "dropout2",
        "norm2",
    ]


def test_a_run_without_a_module_tells_nothing() -> None:
    with pytest.raises(ValueError, match="run_model called no module"):
        arguments.infer_ttnn_module_args(model=Lists(), run_model=lambda m: None, device=None)
