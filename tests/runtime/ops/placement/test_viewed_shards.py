"""The same buffer under another shape: where it lies and what it does not fit, as reference library 0.81.1 has it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtime.ops.placement.test_fitted_shards import where
from tests.runtime.ops.placement.test_halves import named
from tests.runtime.ops.placement.test_larger_shards import HEIGHT
from tests.runtime.ops.placement.test_reordered_shards import FINE, SQUARE, TALL, WIDE, lying
from tests.runtime.ops.tensors import BF16, ROW, held, put
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import L1_MEMORY_CONFIG as L1


def test_rows_on_cores_are_cut_as_they_lie(one: MeshDevice):
    for cut, piece in (((*TALL, ROW), (64, 32)), (FINE, (50, 32))):
        rows = lying(one, *cut)
        seen = named("experimental.view")(rows, (1, 1, -1, 32))
        assert where(seen) == (HEIGHT, (3, 0), piece)
        assert held(seen).ravel().tolist() == held(rows).ravel().tolist()


@pytest.mark.parametrize(
    ("cut", "words"),
    [
        (TALL, "Shard width 64 must match physical width 32 for height sharded"),
        (
            WIDE,
            r"unless the shard width matches the input last dimension\. Input shape: Shape\(\[1, 1, 64, 128\]\), New shape: "
            r"Shape\(\[1, 1, 256, 32\]\), Shard width: 32",
        ),
        (SQUARE, "Changing the last dimension of a sharded tensor is not supported"),
    ],
)
def test_pieces_keep_their_rows(one: MeshDevice, cut, words):
    with pytest.raises(RuntimeError, match=words):
        named("experimental.view")(lying(one, *cut), (1, 1, -1, 32))


def test_a_buffer_holds_the_padding_of_its_view(one: MeshDevice):
    x = put(one, np.ones((1, 1, 64, 128)))
    with pytest.raises(RuntimeError, match="MeshBuffer must be large enough to hold the tensor"):
        named("experimental.view")(x, (1, 4, 16, 128))
    with pytest.raises(RuntimeError, match="Invalid second last dims for TILED reshape, from 64 to 16"):
        named("view")(x, (1, 4, 16, 128))


@pytest.mark.parametrize(
    ("cut", "words"),
    [
        (TALL, "Shard width 64 must match physical width 32 for height sharded"),
        ((*TALL, ROW), "Number of shards along height 8 must not exceed number of cores 4"),
        (WIDE, "Shard height 64 must match physical height 256 for width sharded"),
    ],
)
def test_reshape_on_device_moves_nothing_on_cores(one: MeshDevice, cut, words):
    turn = named("reshape_on_device")
    with pytest.raises(RuntimeError, match=words):
        turn(lying(one, *cut), 1, 1, -1, 32)
    with pytest.raises(RuntimeError, match="Use ttnn::reshape for reshaping sharded inputs"):
        turn(lying(one, *cut), 1, 1, -1, 32, memory_config=L1)
    same = lying(one, *TALL)
    assert where(turn(same, 1, 2, 64, 64, memory_config=L1)) == where(same)


def test_reshape_on_device_takes_four_dimensions_and_as_many_tiles(one: MeshDevice):
    turn = named("reshape_on_device")
    with pytest.raises(RuntimeError, match=r"index out of range. 3 not in \[-4, 2\)"):
        turn(put(one, np.ones((64, 64)), BF16, ROW), 1, 1, -1, 32)
    with pytest.raises(RuntimeError, match="tile-padded physical volume, but got input 3072 and output 4096"):
        turn(put(one, np.ones((1, 1, 96, 20))), 1, 1, -1, 40)
    with pytest.raises(RuntimeError, match="Reshape does not currently support sharding"):
        like = lying(one, *TALL).memory_config()
        turn(put(one, np.ones((1, 1, 64, 128))), 1, 1, 128, 64, memory_config=like)
