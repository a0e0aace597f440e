"""Numbers without a sign, and sequences of them that have a length, wherever an operation has a parameter of such a name."""

from __future__ import annotations

from inspect import signature

import numpy as np
import pytest

from tests.runtime.ops.tensors import BF16, put
from tt_run.runtime import catalog
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.declaration import argument_ranges
from tt_run.runtime.ops.declaration.argument_kinds import kinds_of

CASES = [
    ("chunk", {"chunks": -1}, "chunks must be a whole number from 0, got -1"),
    ("concat", {"groups": -2}, "groups must be a whole number from 0, got -2"),
    ("repeat", {"repeat_dims": [1, -1]}, r"repeat_dims must be whole numbers from 0, got \[1, -1\]"),
    ("fold", {"padding": [1, 1, 1]}, r"padding must be 2 or 4 or 6 whole numbers from 0, got \[1, 1, 1\]"),
    ("interleaved_to_sharded_partial", {"shard_shape": (32,)}, r"shard_shape must be 2 whole numbers from 0, got \(32,\)"),
    ("update_cache", {"update_idx": -1}, "update_idx must be a whole number from 0, got -1"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "words", "message"), CASES)
def test_what_is_out_of_range(one: MeshDevice, name: str, words: dict[str, object], message: str) -> None:
    operation = catalog.find(f"ttnn.{name}")
    assert operation is not None
    x = put(one, np.ones((1, 1, 32, 32)), BF16)
    with pytest.raises(TypeError, match=message):
        operation([x] if name == "concat" else x, **words)


def test_an_operation_that_takes_a_sign() -> None:
    for name, word in (("group_norm", "num_groups"), ("polygamma", "k"), ("arange", "start")):
        assert not argument_ranges.unsigned(name, word)
    operation = catalog.find("ttnn.polygamma")
    assert operation is not None
    assert kinds_of(operation.compute, "polygamma").words["k"].takes(-1)


def test_numbers_of_numpy_are_numbers(one: MeshDevice) -> None:
    chunk = catalog.find("ttnn.chunk")
    assert chunk is not None
    assert len(chunk(put(one, np.ones((1, 1, 32, 64))), np.int64(2), 3)) == 2


def test_every_operation_with_a_rule_has_the_parameter() -> None:
    named = {**argument_ranges._SIGNED, **argument_ranges._ALSO}
    rules = [(name, word) for name, words in named.items() for word in words.split()]
    rules += [(name, word) for name, words in argument_ranges._LENGTHS.items() for word in words]
    window = {"dilation", "kernel_size", "output_padding", "output_size", "padding", "stride"}
    for name, word in rules:
        operation = catalog.find(f"ttnn.{name}")
        assert operation is not None, name
        assert word in signature(operation.compute).parameters or word in window, (name, word)
