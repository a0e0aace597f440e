"""Methods that a class takes from a module above it."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from tt_run.runtime.ops.tensor_methods import TensorMethods
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.late_methods import late_methods
from tt_run.runtime.tensor.tensor import Tensor

TENSOR: Any = from_torch(np.arange(4, dtype=np.float32))


class Above:
    """Methods for `Below`."""

    def __add__(self, other: int) -> str:
        return f"{type(self).__name__} + {other}"

    def twice(self: Any, factor: int = 2) -> int:
        """Its number, multiplied."""
        return self.number * factor


def test_they_are_functions_like_any_other_once_used() -> None:
    base: Any = late_methods(f"{__name__}.Above", "__add__ twice")

    class Below(base):  # type: ignore[misc]
        number = 21

    assert (Below() + 1, Below().twice(), Below().twice(factor=1)) == ("Below + 1", 42, 21)
    assert vars(base)["twice"] is vars(Above)["twice"]


def test_their_signature_and_text_are_there_before_the_first_call() -> None:
    base: Any = late_methods(f"{__name__}.Above", "twice")
    assert str(inspect.signature(base.twice)) == "(self: 'Any', factor: 'int' = 2) -> 'int'"
    assert inspect.getdoc(base.twice) == "Its number, multiplied."


def test_a_tensor_takes_every_method_that_is_written_for_it() -> None:
    written = {n for n, f in vars(TensorMethods).items() if callable(f)} - {"__hash__"}
    taken = set(vars(Tensor.__mro__[1])) - {"__slots__", "__module__", "__doc__", "__hash__"}
    assert taken == written, (
        "the list of names in operation_methods.py and the methods in tensor_methods.py differ"
    )


@pytest.mark.parametrize("use", ["t + t", "t[0]", "t.cpu()"])
def test_each_way_of_first_use_finds_them(use: str) -> None:
    program = (
        "import numpy as np, sys\n"
        "from tt_run.runtime.tensor.borders.arrays import from_torch\n"
        "from tt_run.runtime.mesh import MeshShape, open_mesh_device\n"
        "t = from_torch(np.ones(4, np.float32), device=open_mesh_device(MeshShape(1, 1)))\n"
        "assert 'tt_run.runtime.ops.tensor_methods' not in sys.modules\n"
        f"{use}\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_python_words_what_there_is_no_operator_for() -> None:
    with pytest.raises(TypeError, match=r"bad operand type for unary -: 'ttnn\._ttnn\.tensor\.Tensor'"):
        _ = -TENSOR
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for %"):
        TENSOR % 2
    assert len({TENSOR, TENSOR}) == 1
