"""Operations of the host through `tt_lib.fallback_ops`: PyTorch's values, and where results lie; helpers beside them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tt_run.runtime.enums import DataType, Layout, StorageType  # noqa: E402
from tt_run.runtime.mesh.device import MeshDevice  # noqa: E402
from tt_run.runtime.mesh.geometry.shape import MeshShape  # noqa: E402
from tt_run.runtime.mesh.opening import open_mesh_device, set_default_device  # noqa: E402
from tt_run.runtime.tensor.borders.arrays import from_torch, to_torch  # noqa: E402
from tt_run.runtime.tensor.tensor import Tensor  # noqa: E402
from tt_run.runtime.tools.fallback import composed, functions, helpers, layers  # noqa: E402

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def device() -> Iterator[MeshDevice]:
    made = open_mesh_device(MeshShape(1, 1))
    yield made
    made.close()


def held(
    shape: tuple[int, ...], device: MeshDevice | None = None, layout: Layout = Layout.ROW_MAJOR
) -> Tensor:
    torch.manual_seed(sum(shape))
    made = from_torch(torch.randn(shape), dtype=DataType.BFLOAT16, layout=layout, device=device)
    assert made is not None
    return made


def plain(tensor: Tensor) -> Any:
    return to_torch(tensor).float()


F = torch.nn.functional
IMAGES, ROWS = (2, 3, 5, 8), (1, 2, 32, 64)
CALLS = [
    ("reshape", ROWS, (1, 1, 64, 64), {}, lambda x: x.reshape(1, 1, 64, 64)),
    ("permute", (2, 3, 6, 8), ((0, 1, 3, 2),), {}, lambda x: x.mT),
    ("tensor_slice", IMAGES, ([slice(None), slice(0, 2), ...],), {}, lambda x: x[:, 0:2]),
    ("pad", IMAGES, ((1, 1, 2, 2),), {"value": 1}, lambda x: F.pad(x, (1, 1, 2, 2), value=1)),
    ("interpolate", IMAGES, (), {"scale_factor": 2}, lambda x: F.interpolate(x, scale_factor=2)),
    ("repeat", IMAGES, ([1, 2, 1, 1],), {}, lambda x: x.repeat(1, 2, 1, 1)),
    ("repeat_interleave", IMAGES, (2,), {"dim": 1}, lambda x: x.repeat_interleave(2, 1)),
    ("silu", IMAGES, (), {}, F.silu),
    ("softmax", ROWS, (-1,), {}, lambda x: x.softmax(-1)),
    ("unary_fmod", ROWS, (0.5,), {}, lambda x: x.fmod(0.5)),
    ("group_norm", (1, 4, 8, 8), (2,), {}, lambda x: F.group_norm(x, 2)),
]


@pytest.mark.parametrize("name, shape, arguments, keywords, wanted", CALLS, ids=[case[0] for case in CALLS])
def test_functions(
    device: MeshDevice, name: str, shape: Any, arguments: Any, keywords: Any, wanted: Any
) -> None:
    x = held(shape, device)
    result = getattr(functions, name)(x, *arguments, **keywords)
    assert torch.equal(plain(result), wanted(plain(x)).bfloat16().float())
    whole = result.shape[2] % 32 == 0 and result.shape[3] % 32 == 0
    assert (result.layout, result.device()) == (Layout.TILE if whole else Layout.ROW_MAJOR, device)


def test_where_results_go(device: MeshDevice) -> None:
    rows = held(ROWS)
    on_host = functions.reshape(rows, 1, 1, 64, 64, output_layout=Layout.ROW_MAJOR, output_on_device=False)
    assert (on_host.layout, on_host.storage_type()) == (Layout.ROW_MAJOR, StorageType.HOST)
    odd = functions.reshape(held(IMAGES, device), 1, 1, 48, 5)
    assert odd.storage_type() is StorageType.HOST  # rows of an odd width do not go back
    with pytest.raises(RuntimeError, match=r"SetDefaultDevice\(device\)"):
        functions.ceil(rows)
    set_default_device(device)
    assert functions.full([1, 1, 32, 32], 2.5).device() is device
    set_default_device(None)


def test_lists_come_and_go(device: MeshDevice) -> None:
    x = held(ROWS, device)
    first, second = functions.chunk(x, 2, 3)
    assert (first.shape, first.layout) == ([1, 2, 32, 32], Layout.TILE)
    assert torch.equal(plain(functions.concat([first, second], 3)), plain(x))


def test_integers(device: MeshDevice) -> None:
    given = torch.arange(64, dtype=torch.int32).reshape(1, 1, 2, 32)
    x = from_torch(given, dtype=DataType.INT32, device=device)
    assert torch.equal(to_torch(functions.bitwise_not(x)), ~given)
    assert torch.equal(to_torch(functions.unary_bitwise_left_shift(x, 2)), given << 2)
    assert torch.equal(to_torch(functions.binary_bitwise_and(x, functions.unary_bitwise_or(x, 3))), given)


def test_layers(device: MeshDevice) -> None:
    x, weight, bias = held(IMAGES, device), held((4, 3, 3, 3)), held((1, 1, 1, 4))
    wanted = F.conv2d(plain(x), plain(weight), plain(bias).reshape(4), padding=1)
    result = layers.Conv2d(weight, bias, 3, 4, (3, 3), padding=(1, 1))(x)
    assert torch.equal(plain(result), wanted.bfloat16().float())
    assert torch.equal(plain(functions.conv2d(x, weight, bias, 1, 1)), plain(result))
    scale, shift = held((1, 1, 1, 8)), held((1, 1, 1, 8))
    norm = layers.LayerNorm(scale, shift, 8)(x)
    assert torch.equal(plain(norm), plain(functions.layer_norm(x, [8], scale, shift)))
    mean, ones = held((1, 1, 1, 3)), from_torch(torch.ones(1, 1, 1, 3), dtype=DataType.BFLOAT16)
    count = from_torch(torch.zeros(1, 1, 1, 1), dtype=DataType.BFLOAT16)
    batch = layers.BatchNorm2d(ones, mean, mean, ones, count, 3).eval()(x)
    assert torch.allclose(plain(batch), plain(x), atol=0.05)  # what is taken away is added again
    groups = layers.GroupNorm(held((1, 1, 1, 3)), held((1, 1, 1, 3)), 1, 3)(x)
    assert groups.shape == list(IMAGES)
    with pytest.raises(RuntimeError, match=r"does not end in the normalized shape \[4\]"):
        functions.layer_norm(x, 4, scale)


def test_pools_of_images_whose_channels_come_last(device: MeshDevice) -> None:
    x = held((1, 8, 8, 4), device)
    images = plain(x).permute(0, 3, 1, 2)
    flat = layers.MaxPool2d(2, 2, channels_last=True, reshape_2d=True)(x)
    assert torch.equal(plain(flat), F.max_pool2d(images, 2).permute(0, 2, 3, 1).reshape(1, 1, 16, 4))
    means = layers.AdaptiveAvgPool2d((1, 1), channels_last=True)(x)
    assert torch.allclose(plain(means).reshape(4), images.mean((0, 2, 3)), atol=0.01)


def test_composed_operations(device: MeshDevice) -> None:
    x = held(ROWS, device, Layout.TILE)
    for stable in (False, True):
        assert torch.allclose(plain(composed.softmax(x, stable)), plain(x).softmax(-1), atol=0.01)
    weight = held((1, 1, 32, 64), layout=Layout.TILE)
    product = composed.Linear(64, 32, weight, None, device)(x)
    assert torch.allclose(plain(product), plain(x) @ plain(weight).mT, atol=0.3)
    with pytest.raises(RuntimeError, match="takes weights and biases in tiles"):
        composed.Linear(64, 32, held((1, 1, 32, 64)), None, device)


def test_room_for_whole_tiles() -> None:
    row = torch.arange(70.0)
    shapes = [
        ([1, 1, 32, 96], [1, 1, 32, 96]),
        ([1, 1, 32, 32], [7, 1, 32, 32]),
        ([2, 32, 32], [2, 1, 32, 32]),
    ]
    for x, (weight, activation) in zip((row, row.reshape(7, 10), row.reshape(2, 5, 7)), shapes, strict=True):
        for padded, shape in ((helpers.pad_weight(x), weight), (helpers.pad_activation(x), activation)):
            assert list(padded.shape) == shape
            assert padded.sum() == row.sum()
    assert helpers.pad_activation(row.reshape(7, 10))[6, 0, 0, :10].tolist() == row[60:].tolist()
    with pytest.raises(AssertionError, match="instance of torch"):
        helpers.pad_weight([1.0])


def test_convolutions_as_products() -> None:
    images, weights = torch.randn(2, 3, 6, 8), torch.randn(4, 3, 2, 3)
    left = helpers.convert_act_2d_matrix(images, 2, 3, 1, 2, 0, 1)
    product = left @ helpers.convert_weights_2d_matrix(weights, [4, 3, 2, 3])
    wanted = F.conv2d(images, weights, stride=(1, 2), padding=(0, 1))
    assert torch.allclose(product[0].transpose(1, 2).reshape(wanted.shape), wanted, atol=1e-4)


def test_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert helpers.float_to_bits(-1.5) == -1077936128
    assert helpers.find_closest_largest_divisor(36, 8) == 6
    assert helpers.find_closest_largest_divisor_with_num_padding(37, 8) == 8
    assert (helpers.roundup(7, 4), helpers.roundup32(33)) == (8, 64)
    ones = torch.ones(32, 32)
    assert helpers.is_close(ones, ones + 0.01)
    assert not helpers.is_close(ones, 3 * ones)
    assert "mismatch at index= 0" in capsys.readouterr().out
    assert helpers.print_diff_argmax(ones, torch.eye(32)) == 1.0
    assert "HW= 0 1" in capsys.readouterr().out
