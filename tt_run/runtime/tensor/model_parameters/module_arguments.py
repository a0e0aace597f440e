"""What convolutions, pools and group norms of a torch model are called with: `ttnn.model_preprocessing.infer_ttnn_module_args`.

The model is run once; each module's call tells the size of its image. Source: reference library 0.81.1.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tt_run.runtime.enums import DataType, MathFidelity
from tt_run.runtime.tensor.model_parameters.containers import make_dot_access_dict
from tt_run.runtime.tensor.model_parameters.module_calls import around_modules, leaves
from tt_run.runtime.tensor.model_parameters.module_trees import is_a


class ModuleArgs(dict[str, Any]):
    """Arguments by name, also as attributes. A name that is not there is a KeyError either way, as in the reference."""

    def __getattr__(self, name: str) -> Any:
        return self[name]

    def __delattr__(self, name: str) -> None:
        del self[name]


class Conv2dArgs(ModuleArgs):
    """Arguments of a convolution."""


class ConvTranspose2dArgs(ModuleArgs):
    """Arguments of a transposed convolution."""


class MaxPool2dArgs(ModuleArgs):
    """Arguments of a pool of maxima."""


class GroupNormArgs(ModuleArgs):
    """Arguments of a group norm."""


_CONVOLUTION = ("in_channels", "out_channels", "kernel_size", "stride", "padding")
_STEPS = ("dilation", "groups", "padding_mode")
_KINDS: dict[str, tuple[type[ModuleArgs], tuple[str, ...]]] = {
    "Conv2d": (Conv2dArgs, (*_CONVOLUTION, *_STEPS)),
    "ConvTranspose2d": (ConvTranspose2dArgs, (*_CONVOLUTION, "output_padding", *_STEPS)),
    "MaxPool2d": (MaxPool2dArgs, ("kernel_size", "stride", "padding", "dilation")),
    "GroupNorm": (GroupNormArgs, ("num_groups", "num_channels", "eps", "affine")),
}


def infer_ttnn_module_args(*, model: Any, run_model: Callable[[Any], Any] | None, device: Any) -> Any:
    """The arguments of the modules that `run_model(model)` calls, nested as their calls are; a child named by a digit also by its number.

    A module stands under the last word of its name below the one that calls it: `self.layers[1](x)` under `"1"` and 1, beside what the caller
    calls else. Of several calls the last counts. None without `run_model`. Modules of other kinds hold only what they call. Raises
    TypeError for what is no torch model, ValueError where no module is called.
    """
    if run_model is None:
        return None
    if not hasattr(model, "named_modules"):
        raise TypeError(
            f"run_model reads the calls of a torch.nn.Module; the model is a {type(model).__name__}"
        )
    root: dict[Any, Any] = {}
    levels = [root]

    def note(module: Any, call: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        level: dict[Any, Any] = {}
        levels.append(level)
        try:
            return call(*args, **kwargs)
        finally:
            levels.pop()
            made = _arguments(module, _first_shape((args, kwargs)), device)
            if made is None:
                made = make_dot_access_dict(level, ignore_types=(ModuleArgs,))
            name = module.__ttnn_tracer_name__.rpartition(".")[2]
            levels[-1][name] = made
            if name.isdigit():
                levels[-1][int(name)] = made

    # While a mode looks on, PyTorch takes no path that leaves out the calls of the modules within an encoder.
    with around_modules(note), importlib.import_module("torch.overrides").BaseTorchFunctionMode():
        run_model(model)
    if not root:
        raise ValueError(
            f"run_model called no module, so that nothing is known of {type(model).__name__}; "
            "help: give run_model=lambda model: model(image)"
        )
    return root.get("", next(reversed(root.values())))


def _first_shape(value: Any) -> tuple[int, ...]:
    """The shape of the first tensor among arguments; () where there is none."""
    return next((tuple(leaf.shape) for leaf in leaves(value) if hasattr(leaf, "shape")), ())


def _arguments(module: Any, shape: tuple[int, ...], device: Any) -> ModuleArgs | None:
    kind = next((kind for kind in _KINDS if is_a(module, kind)), None)
    if kind is None:
        return None
    made, names = _KINDS[kind]
    found = made({name: getattr(module, name) for name in names})
    found["batch_size"] = shape[0]
    if made is MaxPool2dArgs:
        found["input_channels"] = shape[1]
    found.update(input_height=shape[-2], input_width=shape[-1])
    if made in (Conv2dArgs, ConvTranspose2dArgs):
        found.update(
            math_fidelity=MathFidelity.HiFi4, dtype=DataType.BFLOAT16, weights_dtype=DataType.BFLOAT16
        )
        found.update(use_1d_systolic_array=True, enable_auto_formatting=False)
        found.update(conv_blocking_and_parallelization_config_override={}, device=device)
    else:
        found["dtype"] = DataType.BFLOAT16
    return found


def merge_ttnn_module_args_into_parameters(
    parameters: Any, ttnn_module_args: Any, path: Sequence[str] = ()
) -> Any:
    """Put arguments beside the parameters of their modules, under `ttnn_module_args`, without the device. Changes `parameters`.

    `path` leads to the parameters. Raises an error that names the place where a module's arguments stand for what is no module.
    """
    if isinstance(ttnn_module_args, ModuleArgs):
        ttnn_module_args.pop("device", None)
        parameters["ttnn_module_args"] = ttnn_module_args
    elif isinstance(parameters, dict):
        for key in [key for key in parameters if key in ttnn_module_args]:
            own, given, place = parameters[key], ttnn_module_args[key], [*path, str(key)]
            if isinstance(own, dict) and isinstance(given, dict):
                merge_ttnn_module_args_into_parameters(own, given, place)
            elif not isinstance(own, list):
                raise ValueError(f"Conflict at {'.'.join(place)}")
    return parameters


def fold_batch_norm2d_into_conv2d(conv: Any, bn: Any) -> tuple[Any, Any]:
    """Weight and bias of a convolution that does what `conv` and then `bn` do, as torch tensors.

    Raises RuntimeError for a batch norm without running statistics.
    """
    if not bn.track_running_stats:
        raise RuntimeError("BatchNorm2d must have track_running_stats=True to be folded into Conv2d")
    scale = bn.weight / (bn.running_var + bn.eps) ** 0.5
    weight = conv.weight * scale[:, None, None, None]
    before = 0 if conv.bias is None else conv.bias
    return weight, (before - bn.running_mean) * scale + bn.bias
