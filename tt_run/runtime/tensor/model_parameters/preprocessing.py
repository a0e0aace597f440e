"""`ttnn.model_preprocessing`: the parameters of a model as tensors (reference library 0.81.1).

Works on torch modules, and without torch on plain Python objects with NumPy `weight` and `bias` attributes (see `modules`).
Parameters are converted through `ttnn.from_torch` as the module has it, so `ttnn.distribute` applies to them.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.native.arguments import public
from tt_run.runtime.tensor.borders.defaults import current_from_torch
from tt_run.runtime.tensor.conversion.devices import to_device
from tt_run.runtime.tensor.model_parameters.cache import CachedModel, cached_model
from tt_run.runtime.tensor.model_parameters.containers import (
    ParameterDict,
    ParameterList,
    make_parameter_dict,
)
from tt_run.runtime.tensor.model_parameters.module_arguments import (
    infer_ttnn_module_args,
    merge_ttnn_module_args_into_parameters,
)
from tt_run.runtime.tensor.model_parameters.module_trees import (
    children_of,
    enter_evaluation,
    is_a,
    is_module_list,
    parameters_of,
)
from tt_run.runtime.tensor.tensor import Tensor

if TYPE_CHECKING:
    from tt_run.runtime.mesh.device import MeshDevice

_log = logging.getLogger(__name__)
_DTYPES = {
    "float32": DataType.BFLOAT16,
    "float64": DataType.BFLOAT16,
    "bfloat16": DataType.BFLOAT16,
    "int64": DataType.UINT32,
    "int32": DataType.INT32,
    "int16": DataType.UINT16,
    "uint8": DataType.UINT8,
}
_OPTIONAL_ARGUMENTS = {"ttnn_module_args", "convert_to_ttnn"}

Convert = Callable[[Any, Any], bool]
CustomPreprocessor = Callable[..., "dict[Any, Any] | None"]


def preprocess_linear_weight(
    weight: Any, *, dtype: DataType, layout: Layout = Layout.TILE, weights_mesh_mapper: Any = None
) -> Tensor:
    """A (out, in) weight as a (in, out) tensor."""
    return _tensor(weight.T, dtype=dtype, layout=layout, mapper=weights_mesh_mapper)


def preprocess_linear_bias(
    bias: Any, *, dtype: DataType, layout: Layout = Layout.TILE, weights_mesh_mapper: Any = None
) -> Tensor:
    """A (out,) bias as a (1, out) tensor."""
    return _tensor(bias.reshape((1, -1)), dtype=dtype, layout=layout, mapper=weights_mesh_mapper)


def preprocess_layernorm_parameter(
    parameter: Any, *, dtype: DataType, layout: Layout = Layout.TILE
) -> Tensor:
    """A (hidden,) parameter as a (1, hidden) tensor."""
    return _tensor(parameter.reshape((1, -1)), dtype=dtype, layout=layout)


def preprocess_embedding_weight(weight: Any, *, dtype: DataType) -> Tensor:
    """A (rows, width) table as a ROW_MAJOR tensor."""
    return _tensor(weight, dtype=dtype)


@dataclass(frozen=True)
class _Conversion:
    """What stays the same during the walk over a model."""

    convert_to_ttnn: Convert
    custom_preprocessor: CustomPreprocessor | None

    def module(self, module: Any, name: str | int, above: tuple[int, ...] = (), called: Any = None) -> Any:
        """The parameters of a module and, below it, of its children.

        `above` are the ids of the modules that contain it, `called` what it and they are called with.
        """
        above = (*above, id(module))
        # Plain objects may point back to what holds them.
        children = [(n, child) for n, child in children_of(module) if id(child) not in above]
        if is_module_list(module):
            return ParameterList(
                [self.module(c, f"{name}.{i}" if name else i, above, _below(called, i)) for i, c in children]
            )
        custom = self._custom(module, name, called)
        if custom:
            return make_parameter_dict(custom)
        parameters = self._own(module, name)
        if parameters and self.convert_to_ttnn(module, name) and _known(module):
            return parameters
        for child_name, child in children:
            key = int(child_name) if child_name.isdigit() else child_name
            path = f"{name}.{child_name}" if name else child_name
            converted = self.module(child, path, above, _below(called, child_name))
            if converted:
                parameters[key] = converted
        return parameters

    def _custom(self, module: Any, name: str | int, called: Any) -> dict[Any, Any] | None:
        if self.custom_preprocessor is None:
            return None
        given = {"ttnn_module_args": called, "convert_to_ttnn": self.convert_to_ttnn}
        wanted = list(inspect.signature(self.custom_preprocessor).parameters)[2:]
        return self.custom_preprocessor(module, name, **{key: given[key] for key in wanted})

    def _own(self, module: Any, name: str | int) -> ParameterDict:
        own = parameters_of(module)
        if not self.convert_to_ttnn(module, name):
            transposed = is_a(module, "Linear")
            return ParameterDict({k: v.T if transposed and k == "weight" else v for k, v in own})
        if _known(module):
            return _layer(module, dict(own))
        return ParameterDict({key: _tensor(value, dtype=_dtype(key, value)) for key, value in own})


def _below(called: Any, child: str | int) -> Any:
    return called.get(child) if isinstance(called, dict) else None


def _known(module: Any) -> bool:
    return any(is_a(module, name) for name in ("Linear", "LayerNorm", "Embedding"))


def _layer(module: Any, own: dict[str, Any]) -> ParameterDict:
    """The parameters of a layer with a form of its own."""
    dtype = DataType.BFLOAT16
    extra = set(own) - {"weight", "bias"}
    if extra or children_of(module):
        names = ", ".join([*sorted(extra), *(name for name, _ in children_of(module))])
        raise RuntimeError(
            f"Not all children or parameters were converted using default_preprocessor_parameters! Left over: {names}"
        )
    result = ParameterDict()
    if is_a(module, "Linear"):
        result["weight"] = preprocess_linear_weight(own["weight"], dtype=dtype)
        if "bias" in own:
            result["bias"] = preprocess_linear_bias(own["bias"], dtype=dtype)
    elif is_a(module, "LayerNorm"):
        for key, value in own.items():
            result[key] = preprocess_layernorm_parameter(value, dtype=dtype)
    else:
        result["weight"] = preprocess_embedding_weight(own["weight"], dtype=dtype)
    return result


def _dtype(name: str, value: Any) -> DataType:
    kind = str(value.dtype).removeprefix("torch.")
    if kind not in _DTYPES:
        raise RuntimeError(f"Parameter {name!r} has element type {kind}; supported are {', '.join(_DTYPES)}")
    return _DTYPES[kind]


def _tensor(value: Any, mapper: Any = None, **options: Any) -> Tensor:
    # Within `ttnn.distribute` a mapper that is not named is the block's.
    named = {} if mapper is None else {"mesh_mapper": mapper}
    made: Tensor = current_from_torch()(value, **options, **named)
    return made


def _check_custom(preprocessor: CustomPreprocessor | None) -> None:
    if preprocessor is None:
        return
    names = list(inspect.signature(preprocessor).parameters)
    if len(names) < 2:
        raise RuntimeError("Custom preprocessor must have at least two parameters: model and name")
    for name in names[2:]:
        if name not in _OPTIONAL_ARGUMENTS:
            raise RuntimeError(f"Unsupported parameter: {name}")


@public
def preprocess_model_parameters(
    *,
    model_name: str | None = None,
    version: str | None = None,
    initialize_model: Callable[[], Any] | None = None,
    convert_to_ttnn: Convert | None = None,
    custom_preprocessor: CustomPreprocessor | None = None,
    device: MeshDevice | None = None,
    prefix: str = "",
) -> Any:
    """All parameters of the model that `initialize_model()` returns, moved to `device` if one is given.

    Linear weights are transposed to (in, out) and tiled, their biases and LayerNorm parameters become (1, n) tiled, Embedding tables stay
    row-major; all in bfloat16. Other parameters are converted by element type. `convert_to_ttnn(module, name)` False keeps a module's arrays;
    `custom_preprocessor(module, name)` decides first if it returns something. With `ttnn.CONFIG.enable_model_cache` and a `model_name` the
    parameters are kept on disk, and a later call with the same `version` reads them: neither the model nor a mapper is asked then.
    Raises RuntimeError for a custom preprocessor of another signature, and without `initialize_model` where nothing is kept.
    """
    return _preprocessed(
        model_name, version, initialize_model, convert_to_ttnn, custom_preprocessor, device, prefix, None
    )


def _preprocessed(
    model_name: str | None,
    version: str | None,
    initialize_model: Callable[[], Any] | None,
    convert_to_ttnn: Convert | None,
    custom_preprocessor: CustomPreprocessor | None,
    device: MeshDevice | None,
    prefix: str,
    run_model: Callable[[Any], Any] | None,
) -> Any:
    _check_custom(custom_preprocessor)
    cache = cached_model(model_name, version)
    parameters = None if cache is None else _loaded(cache)
    if parameters is None:
        if initialize_model is None:
            raise RuntimeError(
                f"Cached weights for the model {model_name} (version {version}) don't exist! "
                'And "initialize_model" has to be provided.'
            )
        model = initialize_model()
        if enter_evaluation(model):
            _log.warning("Putting the model in eval mode")
        called = infer_ttnn_module_args(model=model, run_model=run_model, device=device)
        parameters = convert_torch_model_to_ttnn_model(
            model,
            convert_to_ttnn=convert_to_ttnn,
            custom_preprocessor=custom_preprocessor,
            name=prefix,
            ttnn_module_args=called,
        )
        if called is not None:
            merge_ttnn_module_args_into_parameters(parameters, called)
        if cache is not None:
            cache.store(parameters)
    return parameters if device is None else move_to_device(parameters, device)


def _loaded(cache: CachedModel) -> Any:
    try:
        return cache.load()
    except (RuntimeError, OSError) as error:
        _log.warning("%s  Converting the model again.", error)
        return None


def convert_torch_model_to_ttnn_model(
    model: Any,
    *,
    convert_to_ttnn: Convert | None,
    custom_preprocessor: CustomPreprocessor | None,
    name: str | int,
    ttnn_module_args: Any = None,
) -> Any:
    """The parameters of a module and of those below it, on the host; `name` is its path in the model."""
    walk = _Conversion(convert_to_ttnn or (lambda module, name: True), custom_preprocessor)
    return walk.module(model, name, (), ttnn_module_args)


@public
def preprocess_model(
    *,
    model_name: str | None = None,
    version: str | None = None,
    initialize_model: Callable[[], Any] | None = None,
    convert_to_ttnn: Convert | None = None,
    custom_preprocessor: CustomPreprocessor | None = None,
    device: MeshDevice | None = None,
    prefix: str = "",
    run_model: Callable[[Any], Any] | None = None,
    reader_patterns_cache: dict[Any, Any] | None = None,
) -> Any:
    """`preprocess_model_parameters`, and with `run_model` the arguments of convolutions and pools beside their parameters.

    They stand under `ttnn_module_args`; a custom preprocessor with a parameter of that name gets those of its module.
    """
    return _preprocessed(
        model_name,
        version,
        initialize_model,
        convert_to_ttnn,
        custom_preprocessor,
        device,
        prefix,
        run_model,
    )


@public
def default_preprocessor(model: Any, name: str, ttnn_module_args: Any) -> ParameterDict:
    """The parameters of a Linear, LayerNorm or Embedding in the form that its operation takes; none of other modules."""
    own = dict(parameters_of(model)) if _known(model) else {}
    return _layer(model, own) if own else ParameterDict()


def preprocess_remaining_children_and_parameters(
    model: Any,
    name: str,
    convert_to_ttnn: Convert,
    custom_preprocessor: CustomPreprocessor | None,
    parameters: dict[Any, Any],
    ttnn_module_args: Any,
    *,
    already_preprocessed_children: Collection[str],
) -> dict[Any, Any]:
    """Put in the parameters of a module and of those below it, except for children that have been seen to; `parameters` itself."""
    walk = _Conversion(convert_to_ttnn, custom_preprocessor)
    for child, module in children_of(model):
        if child not in already_preprocessed_children:
            parameters[child] = walk.module(module, name, (id(model),), _below(ttnn_module_args, child))
    for child, value in parameters_of(model):
        if child not in already_preprocessed_children:
            parameters[child] = (
                _tensor(value, dtype=_dtype(child, value)) if convert_to_ttnn(value, name) else value
            )
    return parameters


def move_to_device(object: Any, device: MeshDevice) -> Any:
    """Every tensor in nested parameters on a device; other values stay. Containers are changed in place."""
    if isinstance(object, ParameterDict):
        for name, value in list(object.items()):
            object[name] = move_to_device(value, device)
    elif isinstance(object, ParameterList):
        object[:] = [move_to_device(value, device) for value in object]
    elif isinstance(object, Tensor):
        return to_device(object, device)
    return object
