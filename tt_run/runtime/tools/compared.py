"""How far a result is from a golden one: `ttnn.decorators.compare_tensors_using_pcc`, and what a golden tensor asks for instead of a correlation.

Everything here is about torch tensors. Source: reference library 0.81.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tt_run.runtime.kernels.torch_cpu import library
from tt_run.runtime.tools.tensor_ids import (
    Path,
    leaves,
    leaves_of_both,
    set_tensor_id,
    to_torch_for_comparison,
)
from tt_run.runtime.tools.tolerances import comp_pcc, comp_ulp

METHODS, SCOPES, NONFINITE = ("allclose", "ulp", "skip"), ("degenerate", "all"), ("strict", "mask")
_CONFIG = "_ttnn_comparison_config"
Record = dict[str, Any]


@dataclass(frozen=True)
class GoldenComparisonConfig:
    """What a golden tensor is compared by: `method` (allclose, ulp, skip), always or (`scope` degenerate) where a correlation says nothing.

    `mask`: a tensor of bools, the elements that count. `nonfinite` mask: an element that is not finite in both counts as equal.
    """

    method: str
    scope: str = "degenerate"
    ulp_threshold: float | None = None
    rtol: float = 1e-5
    atol: float = 1e-4
    equal_nan: bool = True
    nonfinite: str = "strict"
    mask: Any = None


def set_golden_comparison_config(
    tensor: Any,
    *,
    method: str,
    scope: str = "degenerate",
    ulp_threshold: float | None = None,
    rtol: float = 1e-5,
    atol: float = 1e-4,
    equal_nan: bool = True,
    nonfinite: str = "strict",
    mask: Any = None,
) -> Any:
    """Tell how a golden torch tensor is to be compared; the same tensor.

    Raises ValueError for a word that none of them is, and for `ulp` without a threshold; TypeError for what is no torch tensor.
    """
    if not isinstance(tensor, library().Tensor):
        raise TypeError(f"Expected torch.Tensor, got {type(tensor)}")
    for what, given, known in (
        ("method", method, METHODS),
        ("scope", scope, SCOPES),
        ("nonfinite policy", nonfinite, NONFINITE),
    ):
        if given not in known:
            raise ValueError(
                f"Unsupported golden {'' if what[0] == 'n' else 'comparison '}{what}: {given}\nhelp: one of {', '.join(known)}"
            )
    if method == "ulp" and ulp_threshold is None:
        raise ValueError("ULP golden comparison requires ulp_threshold")
    config = GoldenComparisonConfig(method, scope, ulp_threshold, rtol, atol, equal_nan, nonfinite, mask)
    setattr(tensor, _CONFIG, config)
    return tensor


def compare_tensors_using_pcc(
    python_fully_qualified_name: str,
    golden_outputs: Any,
    outputs: Any,
    desired_pcc: float,
    level: str,
    fail_on_bad_comparison: bool,
    output_path: Sequence[Any] = (),
) -> list[Record]:
    """A record for each tensor of a result, whether it is close to its golden one; both may be nested alike.

    Raises RuntimeError for the first that is not, if `fail_on_bad_comparison`; TypeError and ValueError for results of another make.
    """
    records = []
    for path, golden, output in leaves_of_both(golden_outputs, outputs):
        if golden is None or output is None:
            continue
        config = asked_of(golden)
        if config is not None and config.method == "skip" and config.scope == "all":
            continue
        matches, pcc = close(golden, to_torch_for_comparison(output, golden), desired_pcc)
        records.append(record_of(output, golden, matches, desired_pcc, pcc))
        if not matches and fail_on_bad_comparison:
            raise RuntimeError(
                f"{python_fully_qualified_name}: Comparing output tensor {_place((*output_path, *path))} against CPU "
                f"{level} failed: pcc is {pcc} but should be >={desired_pcc}"
            )
    return records


def compare_scalar_outputs(
    python_fully_qualified_name: str,
    golden_output: Any,
    output: Any,
    desired_pcc: float,
    level: str,
    fail_on_bad_comparison: bool,
) -> list[Record]:
    """A record for each number of a result, whether it is close to its golden one: whole ones must be equal, others close. Raises RuntimeError if they are not and that is asked for."""
    torch = library()
    records = []
    for _, golden, found in leaves_of_both(golden_output, output):
        one, other = torch.tensor(golden), torch.tensor(found)
        exact = not (one.is_floating_point() or other.is_floating_point())
        matches = (
            bool(one == other)
            if exact
            else torch.allclose(one.double(), other.double(), 1e-5, 1e-4, equal_nan=True)
        )
        for value in (one, other):
            set_tensor_id(value, force=True)
        records.append(record_of(other, one, matches, desired_pcc, float(matches)))
        if not matches and fail_on_bad_comparison:
            raise RuntimeError(
                f"{python_fully_qualified_name}: Comparing scalar output against CPU {level} failed: expected {golden}, got {found}"
            )
    return records


def should_compare_tensor_outputs(golden_outputs: Any, outputs: Any) -> bool:
    """Whether one of two results has a tensor."""
    return any(hasattr(leaf, "shape") for _, leaf in (*leaves(golden_outputs), *leaves(outputs)))


def should_compare_scalar_outputs(golden_outputs: Any, outputs: Any) -> bool:
    """Whether two results are alike in make and all of numbers."""
    try:
        pairs = list(leaves_of_both(golden_outputs, outputs))
    except (TypeError, ValueError):
        return False
    return bool(pairs) and all(isinstance(v, (int, float)) for _, *both in pairs for v in both)


def asked_of(golden: Any) -> GoldenComparisonConfig | None:
    """What a golden tensor asks for instead of a correlation."""
    return getattr(golden, _CONFIG, None)


def close(golden: Any, output: Any, desired: float) -> tuple[bool, float]:
    """Whether two tensors agree, and their correlation; where another measure decides, 1 or 0 in its place."""
    config = asked_of(golden)
    if config is not None and (config.scope == "all" or _says_nothing(golden, output)):
        if config.method == "skip":
            return True, 1.0
        matches = tuple(golden.shape) == tuple(output.shape) and _by(config, golden, output)
        return matches, float(matches)
    if _says_nothing(golden, output) and tuple(golden.shape) != tuple(output.shape):
        return False, 0.0
    if golden.shape != output.shape and golden.numel() == output.numel():
        output = output.reshape(golden.shape)
    matches, pcc = comp_pcc(golden, output, desired)
    return bool(matches), float(pcc)


def _says_nothing(golden: Any, output: Any) -> bool:
    """Whether a correlation tells nothing: of a single element, and of a tensor that is one value everywhere."""
    return any(t.numel() < 2 or bool((t == t.flatten()[0]).all()) for t in (golden, output))


def _by(config: GoldenComparisonConfig, golden: Any, output: Any) -> bool:
    torch = library()
    if config.mask is not None:
        golden, output = golden[config.mask], output[config.mask]
    if config.nonfinite == "mask":
        infinite = ~torch.isfinite(golden)
        if not torch.equal(infinite, ~torch.isfinite(output)):
            return False
        golden, output = golden[~infinite], output[~infinite]
    if not golden.numel():
        return True
    if config.method == "ulp":
        passed, _ = comp_ulp(golden, output, float(config.ulp_threshold or 0), allow_nonfinite=True)
        return bool(passed)
    return bool(
        torch.allclose(golden.double(), output.double(), config.rtol, config.atol, equal_nan=config.equal_nan)
    )


def record_of(output: Any, golden: Any, matches: bool, desired: float, actual: float) -> Record:
    """What is kept of one comparison."""
    return {
        "tensor_id": getattr(output, "tensor_id", None),
        "golden_tensor_id": getattr(golden, "tensor_id", None),
        "matches": matches,
        "desired_pcc": desired,
        "actual_pcc": actual,
    }


def _place(path: Path) -> str:
    if not path:
        return "0"
    if len(path) == 1 and isinstance(path[0], int):
        return str(path[0])
    return "at output" + "".join(f"[{step!r}]" for step in path)
