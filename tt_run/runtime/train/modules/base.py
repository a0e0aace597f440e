"""`ModuleBase` registers by hand, `AbstractModuleBase` by assignment; both name parameters `<Root>/<child>/…/<tensor>`."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any

from tt_run.runtime.errors import type_name
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.modules.hooks import Hooked
from tt_run.runtime.train.modules.joint_names import joint_names
from tt_run.runtime.train.modules.parameter import Buffer, Parameter, TensorMetadata


class RunMode(enum.Enum):
    """TRAIN applies dropout, EVAL does not. Modules start in TRAIN."""

    TRAIN = 0
    EVAL = 1


class InferenceMode(enum.Enum):
    """PREFILL takes all tokens of a prompt, DECODE one after those that a cache holds."""

    PREFILL = 0
    DECODE = 1


class NamedParameters(dict[str, Tensor]):
    """Parameters by full path: what `parameters()` gives and optimizers take. Raises KeyError, saying which are near, for a name it has not."""

    def __missing__(self, name: object) -> Tensor:
        from difflib import get_close_matches

        joint = joint_names(str(name))
        near = [joint] if joint in self else get_close_matches(str(name), self, n=3)
        raise KeyError(
            f"there is no parameter {name!r}; help: {' or '.join(near) or f'one of {len(self)}, list(parameters) names them'}"
        )


class TensorTable(dict[str, Any]):
    """Tensors of a module by name. A `Parameter` may stand for its tensor: reading gives the tensor, and raises while there is none."""

    def __getitem__(self, name: str) -> Tensor:
        held = super().__getitem__(name)
        tensor: Tensor = held.tensor if isinstance(held, Parameter) else held
        return tensor

    def get(self, name: str, default: Any = None) -> Any:
        """The tensor of a name, `default` when there is none."""
        return self[name] if name in self else default  # noqa: SIM401 - get() is this

    def named(self) -> Iterator[tuple[str, Tensor]]:
        """Names and tensors in order of registration; a parameter whose tensor is not made yet is passed over."""
        return ((name, self[name]) for name, held in super().items() if not _is_lazy(held))

    def held(self) -> Iterator[tuple[str, Any]]:
        """Names and what stands for the tensors."""
        return iter(super().items())


def _is_lazy(held: Any) -> bool:
    return isinstance(held, Parameter) and held.is_lazy


class ModuleBase(Hooked):
    """A node of a model: named tensors, named child modules, a run mode.

    Names of children and tensors share one space; registering a name twice raises RuntimeError.
    """

    def __init__(self) -> None:
        self.__dict__["_modules"] = {}
        self.__dict__["_tensors"] = TensorTable()
        self.__dict__["_buffers"] = {}
        self.__dict__["_run_mode"] = RunMode.TRAIN
        self.__dict__["_name"] = type(self).__name__

    _modules: dict[str, ModuleBase]
    _tensors: TensorTable
    _buffers: dict[str, Tensor]
    _run_mode: RunMode
    _name: str

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    # --- names and registration --------------------------------------------------------------------------------------

    def create_name(self, name: str) -> None:
        """The root name of parameters when this module is the root."""
        self.__dict__["_name"] = name

    def get_name(self) -> str:
        """The module's own name, its class name unless it was given another."""
        return self._name

    def register_module(self, module: ModuleBase, name: str) -> None:
        """Add a child. Raises RuntimeError when the name is taken."""
        self._free(name)
        self._modules[name] = module

    def register_tensor(self, tensor: Tensor, name: str) -> None:
        """Add a parameter. Raises RuntimeError when the name is taken."""
        self._free(name)
        self._tensors[name] = tensor

    def override_module(self, module: ModuleBase, name: str) -> None:
        """Replace a child. Raises RuntimeError when there is none of that name."""
        if name not in self._modules:
            raise RuntimeError(
                f"{self._name} has no module named {name!r} to override; it has {sorted(self._modules)}; help: register_module for a new one"
            )
        self._modules[name] = module

    def override_tensor(self, tensor: Tensor, name: str) -> None:
        """Replace a parameter. Raises RuntimeError when there is none of that name."""
        if name not in self._tensors:
            raise RuntimeError(
                f"{self._name} has no tensor named {name!r} to override; it has {sorted(self._tensors)}; help: register_tensor for a new one"
            )
        self._tensors[name] = tensor

    def _free(self, name: str) -> None:
        if name in self._modules or name in self._tensors:
            raise RuntimeError(
                f"{self._name} already has something named {name!r}; help: take another name, or override_tensor / override_module"
            )

    # --- parameters --------------------------------------------------------------------------------------------------

    def parameters(self) -> NamedParameters:
        """Full path to trainable tensor, a shared tensor once under its first path; nothing of what is not materialised yet."""
        seen: set[int] = set()
        found = NamedParameters()
        for path, tensor in self._walk_tensors(self._name, "/"):
            if id(tensor) not in seen:
                seen.add(id(tensor))
                found[path] = tensor
        return found

    def _walk_tensors(self, prefix: str, joint: str) -> Iterator[tuple[str, Tensor]]:
        for name, tensor in self._tensors.named():
            yield f"{prefix}{joint}{name}" if prefix else name, tensor
        for name, module in self._modules.items():
            yield from module._walk_tensors(f"{prefix}{joint}{name}" if prefix else name, joint)

    def lazy_parameters(self, prefix: str = "") -> Iterator[tuple[str, Parameter]]:
        """Dotted paths of parameters, here and below, whose tensors are not made yet, and the parameters."""
        for name, held in self._tensors.held():
            if isinstance(held, Parameter) and held.is_lazy:
                yield prefix + name, held
        for name, module in self._modules.items():
            yield from module.lazy_parameters(f"{prefix}{name}.")

    # --- modes -------------------------------------------------------------------------------------------------------

    def set_run_mode(self, mode: RunMode) -> None:
        """Set the mode here and in every child. Raises TypeError for what is no mode."""
        if not isinstance(mode, RunMode):
            raise TypeError(f"set_run_mode: {mode!r} is no RunMode; help: RunMode.TRAIN or RunMode.EVAL")
        self.__dict__["_run_mode"] = mode
        for module in self._modules.values():
            module.set_run_mode(mode)

    def get_run_mode(self) -> RunMode:
        """The mode of this module."""
        return self._run_mode

    def train(self) -> None:
        """TRAIN mode for the module and its children."""
        self.set_run_mode(RunMode.TRAIN)

    def eval(self) -> None:
        """EVAL mode for the module and its children."""
        self.set_run_mode(RunMode.EVAL)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What a call computes; modules define it."""
        raise TypeError(f"{type(self).__name__} defines no forward(); help: {self._forward_help}")

    _forward_help = "def forward(self, x): … in the class"


class AbstractModuleBase(ModuleBase):
    """A module that registers what is assigned to its attributes: modules, `Parameter`s, bare tensors, `Buffer`s.

    Call `super().__init__()` first; assigning a name again replaces what it named.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if "_modules" not in self.__dict__:
            raise AttributeError(
                f"call super().__init__() before assigning {name!r} in {type(self).__name__}; "
                "help: as the first line of __init__"
            )
        if name in self._tensors and not isinstance(
            value, (ModuleBase, TensorMetadata, Parameter, Tensor, Buffer, type(None))
        ):
            raise TypeError(
                f"{type(self).__name__}.{name} is a parameter and cannot become {type_name(value)}; "
                f"help: {name}.tensor.set_value(a ttnn.Tensor), or {name} = Parameter(a ttml.autograd.Tensor)"
            )
        for table in (self._modules, self._tensors, self._buffers):
            table.pop(name, None)
        if isinstance(value, ModuleBase):
            self._modules[name] = value
        elif isinstance(value, TensorMetadata):
            self._tensors[name] = value = Parameter(value)
        elif isinstance(value, (Parameter, Tensor)):
            self._tensors[name] = value
        elif isinstance(value, Buffer):
            value.tensor.set_requires_grad(False)
            self._buffers[name] = value.tensor
        self.__dict__[name] = value

    def __delattr__(self, name: str) -> None:
        if name not in self.__dict__:
            raise AttributeError(
                f"{type(self).__name__} has no attribute {name!r}; help: one of {', '.join(sorted(n for n in self.__dict__ if n[:1] != '_'))}"
            )
        for table in (self._modules, self._tensors, self._buffers):
            table.pop(name, None)
        self.__dict__.pop(name)

    def override_module(self, module: ModuleBase, name: str) -> None:
        """Replace a child and the attribute that names it."""
        super().override_module(module, name)
        self.__dict__[name] = module

    # --- walking -----------------------------------------------------------------------------------------------------

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
        """Dotted paths without the root's name, and tensors; a shared tensor once."""
        seen: set[int] = set()
        for path, tensor in self._walk_tensors(prefix, "."):
            if id(tensor) not in seen:
                seen.add(id(tensor))
                yield path, tensor

    def named_buffers(self, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
        """Dotted paths and buffers."""
        for path, module in self.named_modules(prefix):
            for name, tensor in module._buffers.items():
                yield f"{path}.{name}" if path else name, tensor

    def buffers(self) -> Iterator[Tensor]:
        """Every buffer."""
        return (tensor for _, tensor in self.named_buffers())

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, ModuleBase]]:
        """This module and all below it, parents first."""
        yield prefix, self
        for name, module in self._modules.items():
            path = f"{prefix}.{name}" if prefix else name
            if isinstance(module, AbstractModuleBase):
                yield from module.named_modules(path)
            else:
                yield path, module

    def modules(self) -> Iterator[ModuleBase]:
        """This module and all below it."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, ModuleBase]]:
        """Direct children with their names."""
        return iter(self._modules.items())

    def children(self) -> Iterator[ModuleBase]:
        """Direct children."""
        return iter(self._modules.values())

    def state_dict(self) -> dict[str, Tensor]:
        """Parameters and buffers by dotted path."""
        return {**dict(self.named_parameters()), **dict(self.named_buffers())}
