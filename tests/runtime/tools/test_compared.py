"""`ttnn.decorators`: golden tensors compared by what they ask for, tensors' numbers, what stands between operations and golden functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt_run.runtime.tools.comparison_mode  # noqa: F401 - what follows the switch, as in a program
from tests.runtime.ops.tensors import put
from tt_run.runtime import catalog
from tt_run.runtime.mesh import MeshDevice, MeshShape, open_mesh_device
from tt_run.runtime.settings import CONFIG
from tt_run.runtime.tools import compared, comparison, tensor_ids

assert comparison  # it follows the setting once it is imported
pytestmark = pytest.mark.torch
torch: Any = pytest.importorskip("torch")
NAN, INF = float("nan"), float("inf")


@pytest.fixture(scope="module")
def one() -> Any:
    device = open_mesh_device(MeshShape(1, 1))
    yield device
    device.close()


def compare(golden: Any, output: Any, **more: Any) -> Any:
    more = {"desired_pcc": 0.99, "level": "locally", "fail_on_bad_comparison": False, **more}
    return compared.compare_tensors_using_pcc("ttnn.test", golden, output, **more)


@pytest.mark.parametrize(
    ("golden", "output", "asked", "close"),
    [
        ([1.0], [1.25], {"method": "allclose", "rtol": 0.3, "atol": 0.0}, True),
        ([1.0], [1.25], {"method": "allclose", "rtol": 0.1, "atol": 0.0}, False),
        ([1.0], [1.0 + 2**-23], {"method": "ulp", "ulp_threshold": 1}, True),
        ([1.0], [1.0 + 2**-21], {"method": "ulp", "ulp_threshold": 1}, False),
        # A correlation says something here, so only `all` sets it aside.
        ([1.0, 2.0, 3.0], [1.0, 2.0, 3.01], {"method": "allclose"}, True),
        ([1.0, 2.0, 3.0], [1.0, 2.0, 3.01], {"method": "allclose", "scope": "all"}, False),
        ([1.0, 2.0], [1.0, 99.0], {"method": "allclose", "scope": "all", "mask": torch.tensor([True, False])}, True),
        ([NAN, 1.0], [INF, 1.0], {"method": "allclose", "scope": "all", "nonfinite": "mask"}, True),
        ([NAN, 1.0], [1.0, INF], {"method": "allclose", "scope": "all", "nonfinite": "mask"}, False),
        ([NAN, 1.0], [INF, 1.0], {"method": "allclose", "scope": "all"}, False),
        ([2.0, 2.0], [3.0, 3.0], {"method": "skip"}, True),
        ([1.0, 2.0], [2.0, 1.0], {"method": "skip"}, False),
    ],
)  # fmt: skip
def test_a_golden_tensor_says_how_it_is_compared(
    golden: list[float], output: list[float], asked: dict[str, Any], close: bool
) -> None:
    wanted = compared.set_golden_comparison_config(torch.tensor(golden), **asked)
    (record,) = compare(wanted, torch.tensor(output))
    assert record["matches"] is close


def test_results_are_compared_in_step() -> None:
    rising, falling = torch.arange(4.0), torch.arange(4.0).flip(0)
    tensor_ids.set_tensor_id([rising, falling], force=True)
    records = compare([rising, (falling, None)], [rising.clone(), (rising, None)])
    assert [record["matches"] for record in records] == [True, False]
    assert records[1]["golden_tensor_id"] == falling.tensor_id == rising.tensor_id + 1
    assert compare(
        compared.set_golden_comparison_config(falling.clone(), method="skip", scope="all"), rising
    ) == []  # fmt: skip
    assert compare(torch.arange(4.0), torch.arange(4.0).reshape(2, 2))[0]["matches"]
    assert not compare(torch.ones(1), torch.ones(1, 1))[0]["matches"]
    with pytest.raises(
        RuntimeError, match=r"ttnn.test: Comparing output tensor 1 against CPU globally failed: pcc is -1"
    ):
        compare([rising, falling], [rising, rising], level="globally", fail_on_bad_comparison=True)
    with pytest.raises(ValueError, match="golden has 1 elements but output has 2"):
        compare([rising], [rising, rising])
    with pytest.raises(TypeError, match="golden type <class 'NoneType'> does not match"):
        compare(None, rising)


def test_numbers_are_compared() -> None:
    def scalars(golden: Any, output: Any, fail: bool = False) -> list[bool]:
        records = compared.compare_scalar_outputs("ttnn.test", golden, output, 0.99, "locally", fail)
        return [record["matches"] for record in records]

    assert scalars([7, 1.0], [7, 1.0 + 1e-6]) == [True, True]
    assert scalars(7, 8) == [False]
    with pytest.raises(RuntimeError, match="expected 7, got 8"):
        scalars(7, 8, fail=True)
    assert compared.should_compare_scalar_outputs([1, 2.0], [3, 4.0])
    assert not compared.should_compare_scalar_outputs([1, 2], [3])
    assert compared.should_compare_tensor_outputs(1, torch.ones(2))


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"method": "pcc"}, "Unsupported golden comparison method: pcc\nhelp: one of allclose, ulp, skip"),
        ({"method": "skip", "scope": "never"}, "Unsupported golden comparison scope: never"),
        ({"method": "skip", "nonfinite": "no"}, "Unsupported golden nonfinite policy: no"),
        ({"method": "ulp"}, "ULP golden comparison requires ulp_threshold"),
    ],
)
def test_what_cannot_be_asked_for(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError) as caught:
        compared.set_golden_comparison_config(torch.ones(2), **asked)
    assert str(caught.value).startswith(said)


def test_tensors_have_numbers(one: MeshDevice) -> None:
    tensor = put(one, np.ones((32, 32)))
    before = tensor.tensor_id
    tensor_ids.set_tensor_id(tensor)
    assert tensor.tensor_id == before
    tensor_ids.set_tensor_id(tensor, force=True)
    assert tensor.tensor_id > before
    plain = torch.ones(2)
    assert tensor_ids.get_all_tensors([tensor, (plain, {"k": tensor})]) == [tensor, plain]
    assert tensor_ids.get_output_tensor_ids([tensor, tensor]) == [tensor.tensor_id] * 2
    assert tensor_ids.get_devices([tensor]) == {one}
    assert tensor_ids.get_inplace_output_tensors({"output_tensor": tensor, "out": None}) == [tensor]
    with pytest.raises(RuntimeError, match="Unsupported input to set_tensor_id: <class 'int'>"):
        tensor_ids.set_tensor_id(3)
    golden = compared.set_golden_comparison_config(torch.ones(32, 32), method="skip", scope="all")
    tensor_ids.postprocess_global_golden_function_outputs(tensor, golden)
    kept = tensor_ids.goldens.pop(tensor.tensor_id)
    assert compared.asked_of(kept) == compared.asked_of(golden) and kept is not golden


def test_gradients_of_golden_functions_begin_anew() -> None:
    value = torch.tensor([2.0], requires_grad=True)
    for factor in (2, 3):
        (prepared, counts), _ = tensor_ids.prepare_backward_golden_inputs(((value, torch.tensor([1])), {}))
        assert value.grad is None and not counts.requires_grad
        (prepared * factor).sum().backward()
        assert value.grad.item() == factor


def test_a_program_puts_its_own_golden_function_there(
    one: MeshDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    softmax = catalog.find("ttnn.softmax")
    assert softmax is not None
    arguments, words = softmax.preprocess_golden_function_inputs((put(one, X),), {"dim": -1})
    assert torch.allclose(
        softmax.golden_function(*arguments, **words), torch.softmax(torch.from_numpy(X), -1)
    )
    monkeypatch.setattr(softmax, "golden", softmax.golden)  # put back at the end
    softmax.golden_function = lambda x, **_: x
    monkeypatch.setattr(CONFIG, "comparison_mode_should_raise_exception", True)
    CONFIG.enable_comparison_mode = True
    try:
        with pytest.raises(
            RuntimeError, match=r"ttnn.softmax: Comparing output tensor 0 against CPU failed: pcc is 0\.9"
        ):
            softmax(put(one, X), dim=-1)
        skipped = torch.from_numpy(X).flip(-1)
        softmax.golden_function = lambda x, **_: compared.set_golden_comparison_config(
            skipped, method="skip", scope="all"
        )
        softmax(put(one, X), dim=-1)
    finally:
        CONFIG.enable_comparison_mode = False


X = np.random.default_rng(0).uniform(-1, 1, (1, 64, 128)).astype(np.float32)
