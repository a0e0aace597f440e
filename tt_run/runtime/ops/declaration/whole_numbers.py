"""Which integers operations of rows take whose functions are of real numbers, and what type their results then have.

A gradient of integers, or beside them, is made of steps that each take integers or not, so that no rule says it. Source: reference library
0.81.1, where each of these calls was made.
"""

from __future__ import annotations

from collections.abc import Sequence

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.tensor.tensor import Tensor

_LETTERS = {
    DataType.INT32: "i",
    DataType.UINT32: "u",
    DataType.UINT16: "h",
    DataType.UINT8: "b",
    DataType.BFLOAT16: "f",
    DataType.FLOAT32: "f",
}
_TYPES = {
    "i": DataType.INT32,
    "u": DataType.UINT32,
    "h": DataType.UINT16,
    "b": DataType.UINT8,
    "F": DataType.FLOAT32,
}

_TABLE = """
abs_bw asinh_bw atan_bw cos_bw cosh_bw erfc_bw exp2_bw exp_bw expm1_bw i0_bw lgamma_bw log_sigmoid_bw multigammaln_bw silu_bw sin_bw sinh_bw softsign_bw tan_bw tanhshrink_bw:
  if>ft
add_bw: bb>b fi>it hh>h if>ft ii>i uu>u ffi>fit fif>ift fii>iit hhh>hht iff>fft ifi>fit iif>ift iii>iit uuu>uut
addalpha_bw: ffi>fit fif>ift fii>iit hhh>hht iff>fft ifi>fit iif>ift iii>iit uuu>uut
addcdiv_bw: ffif>ffft fiff>ffft fiif>ffft ifff>iFFt ifif>iFFt iiff>iFFt iiif>iFFt
addcmul_bw:
  fffi>ffft ffif>ffft ffii>ffft fiff>ffft fifi>ffft fiif>ffft fiii>ffft hhhh>hhh ifff>ifft iffi>iFft ifif>ifFt
  ifii>iFFt iiff>ifft iifi>iFft iiif>ifFt iiii>iFF uuuu>uFF
assign_bw: bb>b hh>h ii>i uu>u bbb>bb ffi>fit fif>ift fii>iit hhh>hh iff>fft ifi>fit iif>ift iii>ii uuu>uu
atan2_bw hypot_bw logaddexp2_bw logaddexp_bw: iff>fft
ceil_bw fill_bw fill_zero_bw floor_bw frac_bw round_bw sign_bw trunc_bw: bb>b fi>ft hh>h if>it ii>i uu>u
celu_bw softplus_bw: fi>ft if>it ii>it uu>ut
clamp_bw clip_bw hardtanh_bw relu6_bw relu_bw: fi>ft ii>i
clamped_silu_glu: fi>f fu>f hh>h if>f ii>i uf>f uu>u
concat_bw: bbb>bb hhh>hh iii>ii uuu>uu
deg2rad_bw rad2deg_bw square_bw: fi>ft hh>h if>Ft ii>F uu>F
div_bw: fi>it hh>ht if>ft ii>it uu>ut fif>ift iff>fft iif>ift
div_no_nan: h>h i>F u>F fi>f fu>f if>f ii>F uf>f
div_no_nan_bw: fi>ft ii>F uu>F
elu_bw: if>it
erf_bw: fi>ft hh>h if>ft ii>F uu>F
erfinv_bw reciprocal_bw: fi>ft if>Ft ii>Ft uu>Ft
fmod_bw remainder_bw: bb>b hh>h ii>i uu>u ffi>fft fif>fft fii>fft iff>ift ifi>ift iif>ift iii>ii
hardsigmoid_bw: fi>ft ii>F
hardswish_bw: fi>ft if>ft ii>Ft
isclose: if>F ii>F
experimental.rotary_embedding_hf: iii>it uuu>ut hhh>ht bbb>bt
ldexp_bw: fif>fft iff>fft iif>fft
leaky_relu_bw: fi>ft if>it ii>it
lerp_bw:
  ffi>fft fif>fft fii>fft hhh>hh iff>FFt ifi>FFt iif>FFt iii>FF uuu>FF fffi>ffft fiif>ffft fiii>ffft hhhh>hhh
  ifff>ffft iffi>iift iiif>ffit iiii>iii uuuu>uuu
log10_bw log2_bw: ii>Ft
mac: i>F u>F if>ft iff>ft
max_bw min_bw: fii>fft iii>iit
moreh_abs_pow: i>it
neg_bw: ii>i
polyval: h>h i>F u>F
pow_bw: fi>it if>ft ii>i
rpow_bw: fi>ft if>ft ii>F
rsub_bw: ffi>fft fif>fft fii>fft iff>iit ifi>iit iif>iit iii>ii
selu_bw: if>Ft
squared_difference_bw: fii>fft hhh>hh iff>fft iii>ii uuu>uu
sub_bw: bb>b fi>it hh>h if>ft ii>i uu>u fif>ift ifi>fit iii>iit
subalpha_bw: fif>ift ifi>fit iii>iit
threshold_bw: ii>it
where_bw: fffi>fft ffif>fft ffii>fft fiff>fft fifi>fft fiif>fft fiii>fft iiff>iit iifi>iit iiif>iit iiii>ii uuuu>uu
"""
"""Operations, a colon, and what they take: a letter for each tensor, and one for each result after the sign.

i: INT32, u: UINT32, h: UINT16, b: UINT8, f: BFLOAT16 or FLOAT32, of results that of the operands, F: FLOAT32. A `t` at the end: tiles only.
"""


def _entered() -> dict[str, dict[str, tuple[str, bool]]]:
    found: dict[str, dict[str, tuple[str, bool]]] = {}
    names: list[str] = []
    for line in _TABLE.strip().splitlines():
        head, colon, forms = line.rpartition(":")
        names = head.split() if colon else names
        for form in forms.split():
            given, _, made = form.partition(">")
            for name in names:
                found.setdefault(name, {})[given] = made.rstrip("t"), made.endswith("t")
    return found


TAKEN = _entered()
"""By the names of operations below `ttnn` and the letters of their tensors: the letters of the results, and whether in tiles only."""


def results(name: str, given: Sequence[Tensor]) -> tuple[DataType, ...] | None:
    """The types of the results that operation `name` makes of these tensors, integers among them; None where it does not take them."""
    forms = TAKEN.get(name)
    if forms is None:
        return None
    letters = "".join(_LETTERS.get(tensor.dtype, "?") for tensor in given)
    made, tiles = forms.get(letters, ("", False))
    floats = {tensor.dtype for tensor in given if _LETTERS.get(tensor.dtype) == "f"}
    if not made or len(floats) > 1 or (tiles and any(tensor.layout is not Layout.TILE for tensor in given)):
        return None
    return tuple(_TYPES.get(letter) or next(iter(floats)) for letter in made)
