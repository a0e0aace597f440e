"""Fourier transforms, complex products and summed areas. Source: reference library 0.81.1.

NumPy computes them: transforms in float64, rounded once, row by row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import floating, on_device, settle
from tt_run.runtime.ops.declaration.rows import Row, declare, stacks
from tt_run.runtime.ops.elementwise.ternary import ternary
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import Shards, combine_all

Array = npt.NDArray[Any]


def _transformed(
    name: str, function: Callable[[Array], Array], real: Tensor, imag: Tensor | None, precision: str
) -> tuple[Tensor, Tensor]:
    if precision not in ("precise", "fast"):
        raise fatal(
            "ttnn.experimental.fft / ttnn.experimental.ifft: precision must be 'precise' or 'fast' "
            f"(got {precision!r}).",
            hint="precision='precise'",
        )
    given = [real] if imag is None else [real, imag]
    on_device(*given, kind=name)
    floating(name, *given)
    _check_parts(name, real, imag)

    def on_stacks(a: Array, b: Array | None = None) -> list[Array]:
        found = function(a.astype(np.float64) if b is None else a + 1j * b.astype(np.float64))
        return [np.ascontiguousarray(part, np.float32) for part in (found.real, found.imag)]

    parts = combine_all(on_stacks, *(t.shards for t in given))
    first, second = (settle(given, Shards(finish(p.data, real.dtype), p.index), real.dtype) for p in parts)
    return first, second


def _check_parts(name: str, real: Tensor, imag: Tensor | None) -> None:
    """Raises RuntimeError for parts that differ, and for signals of less than two numbers."""
    if imag is not None and tuple(imag.shape) != tuple(real.shape):
        raise fatal(
            f"ttnn::experimental::{name}: input_real and input_imag must share shape.",
            hint=f"real {real.shape}, imaginary {imag.shape}",
        )
    if imag is not None and imag.dtype is not real.dtype:
        raise fatal(
            f"ttnn::experimental::{name}: input_real/input_imag dtype mismatch (real={real.dtype.value}, imag={imag.dtype.value}).",
            hint=f"ttnn.typecast(imag, {cpp(real.dtype)})",
        )
    if not len(real.shape) or real.shape[-1] < 2:
        raise fatal(
            f"ttnn::experimental::{name}: last-dim length N must be >= 2 (got N={real.shape[-1] if len(real.shape) else 1}).",
            hint="one number is its own transform",
        )


@operation("ttnn.experimental.fft", family=families.COMPLEX)
def fft(
    input_real: Tensor, input_imag: Tensor | None = None, precision: str = "precise"
) -> tuple[Tensor, Tensor]:
    """The discrete Fourier transform of the last dimension: real and imaginary part, in natural order."""
    if isinstance(input_imag, str):
        input_imag, precision = None, input_imag
    return _transformed("fft", np.fft.fft, input_real, input_imag, precision)


@operation("ttnn.experimental.ifft", family=families.COMPLEX)
def ifft(spectrum_real: Tensor, spectrum_imag: Tensor, precision: str = "precise") -> tuple[Tensor, Tensor]:
    """The inverse of `fft`: the signal's real and imaginary part, divided by the length."""
    return _transformed("ifft", np.fft.ifft, spectrum_real, spectrum_imag, precision)


@operation("ttnn.experimental.complex_mul", family=families.COMPLEX)
def complex_mul(a_real: Tensor, a_imag: Tensor, b_real: Tensor, b_imag: Tensor) -> tuple[Tensor, Tensor]:
    """The product of two complex tensors given by their parts; its parts."""
    given = (a_real, a_imag, b_real, b_imag)
    if len({tensor.dtype for tensor in given}) > 1:
        raise fatal(
            "complex_mul: all four input tensors must share the same dtype.",
            hint=f"ttnn.typecast them to {a_real.dtype}",
        )
    real = ternary(lambda a, b, c, d: a * c - b * d, given, a_real.dtype, None, None)
    return real, ternary(lambda a, b, c, d: a * d + b * c, given, a_real.dtype, None, None)


@operation("ttnn.experimental.apply_twiddles", family=families.COMPLEX)
def apply_twiddles(input_real: Tensor, input_imag: Tensor, N1: int, N2: int) -> tuple[Tensor, Tensor]:
    """Row r of the last dimension (N1 wide), complex by its parts, times exp(-2 pi i (r mod N2) k / (N1 N2)); the product's parts."""
    if input_real.shape[-1] != N1 or input_real.logical_volume() // N1 % N2:
        raise fatal(
            f"apply_twiddles: {input_real.shape} is no multiple of {N2} rows of {N1}",
            hint=f"N1={input_real.shape[-1]}, and N2 a divisor of {input_real.logical_volume() // max(N1, 1)} rows",
        )
    turns = _turns(np.arange(N2), N1, N1 * N2)

    def turned(values: Array) -> Array:
        rows = values.reshape(-1, N2, N1) * turns
        return rows.reshape(values.shape)

    return _transformed("apply_twiddles", turned, input_real, input_imag, "precise")


@operation("ttnn.experimental.apply_twiddles_xl", family=families.COMPLEX)
def apply_twiddles_xl(
    input_real: Tensor, input_imag: Tensor, P: int, big_modulus: int, full_N: int
) -> tuple[Tensor, Tensor]:
    """Row r of the last dimension (P wide), complex by its parts, times exp(-2 pi i (r mod big_modulus) k / full_N); the product's parts."""
    if input_real.shape[-1] != P or input_real.logical_volume() // P % big_modulus:
        raise fatal(
            f"apply_twiddles_xl: {input_real.shape} is no multiple of {big_modulus} rows of {P}",
            hint=f"P={input_real.shape[-1]}, and big_modulus a divisor of {input_real.logical_volume() // max(P, 1)} rows",
        )
    turns = _turns(np.arange(big_modulus), P, full_N)

    def turned(values: Array) -> Array:
        return np.asarray((values.reshape(-1, big_modulus, P) * turns).reshape(values.shape))

    return _transformed("apply_twiddles_xl", turned, input_real, input_imag, "precise")


def _turns(rows: Array, width: int, full: int) -> Array:
    """exp(-2 pi i row k / full) for the columns k of each row."""
    return np.asarray(np.exp(-2j * np.pi * (np.outer(rows, np.arange(width)) % full) / full))


@operation("ttnn.experimental.fft_radix_pass", family=families.COMPLEX)
def fft_radix_pass(input_real: Tensor, *given: Any, **words: Any) -> tuple[Tensor, Tensor]:
    """(input_real, [input_imag,] P, twiddle_N2=0, stride=1, output_scale=1.0): the Fourier transform of each row of P.

    Each is times exp(-2 pi i (row // stride mod twiddle_N2) k / (P twiddle_N2)), if there is a twiddle_N2, and output_scale.
    """
    imag, given = _imaginary(given, words)

    def factors(
        P: int, twiddle_N2: int = 0, stride: int = 1, output_scale: float = 1.0
    ) -> tuple[int, int, int, float]:
        return P, twiddle_N2, stride, output_scale

    width, modulus, stride, scale = factors(*given, **words)
    rows = input_real.logical_volume() // width
    if input_real.shape[-1] != width or rows % (stride * max(modulus, 1)):
        raise fatal(
            f"fft_radix_pass: {input_real.shape} is no multiple of {stride * max(modulus, 1)} rows of {width}",
            hint=f"P={input_real.shape[-1]}, or ttnn.reshape to rows of {width}",
        )
    turns = _turns(np.arange(rows) // stride % modulus, width, width * modulus) if modulus else 1

    def passed(values: Array) -> Array:
        found = np.fft.fft(values.reshape(-1, rows, width)) * turns * scale
        return np.asarray(found.reshape(values.shape))

    return _transformed("fft_radix_pass", passed, input_real, imag, "precise")


@operation("ttnn.experimental.bluestein_fft", family=families.COMPLEX)
def bluestein_fft(input_real: Tensor, *given: Any, **words: Any) -> tuple[Tensor, Tensor]:
    """(input_real, [input_imag,] N, precision="precise"): the Fourier transform of the last dimension, N long, whatever its factors."""
    imag, given = _imaginary(given, words)

    def factors(N: int, precision: str = "precise") -> tuple[int, str]:
        return N, precision

    length, precision = factors(*given, **words)
    if input_real.shape[-1] != length:
        raise fatal(
            f"bluestein_fft: the last dimension of {input_real.shape} is not N = {length}",
            hint=f"N={input_real.shape[-1]}",
        )
    return _transformed("bluestein_fft", np.fft.fft, input_real, imag, precision)


@operation("ttnn.experimental.fft_three_pass", family=families.COMPLEX)
def fft_three_pass(input_real: Tensor, *given: Any, **words: Any) -> tuple[Tensor, Tensor]:
    """(input_real, [input_imag,] full_N, precision="precise", inverse=False): the Fourier transform of signals in rows.

    The input is [B*N1*N2, N3] with N1 N2 N3 = full_N, the result [B*N1, N2, N3]: N3 as large as 1024 allows, N1 at least N2.
    """
    imag, given = _imaginary(given, words)

    def factors(full_N: int, precision: str = "precise", inverse: bool = False) -> tuple[int, str, bool]:
        return full_N, precision, inverse

    full, precision, inverse = factors(*given, **words)
    last = min(1024, full // 1024)
    second = 1 << ((full // last).bit_length() - 1) // 2
    if input_real.shape[-1] != last or input_real.logical_volume() % full:
        raise fatal(
            f"fft_three_pass: {input_real.shape} does not hold signals of {full} in rows of {last}",
            hint=f"ttnn.reshape both parts to (…, {full // last}, {last})",
        )

    def passed(values: Array) -> Array:
        found = (np.fft.ifft if inverse else np.fft.fft)(values.reshape(-1, full))
        return np.asarray(found.reshape(len(values), -1, second, last))

    return _transformed("fft_three_pass", passed, input_real, imag, precision)


def _imaginary(given: tuple[Any, ...], words: dict[str, Any]) -> tuple[Tensor | None, tuple[Any, ...]]:
    """The imaginary part, where there is one behind the real one or by its name, and the arguments after it."""
    if given and isinstance(given[0], Tensor):
        return given[0], given[1:]
    return words.pop("input_imag", None), given


def _area(x: Array) -> Array:
    if x.ndim != 5:
        raise fatal(
            f"intimg supports only 4D tensors, the input tensor has {x.ndim - 1} instead",
            hint="ttnn.reshape(x, (1, W, H, C))",
        )
    if x.shape[1] != 1:
        raise fatal(f"intimg supports only one batch, found {x.shape[1]} instead", hint="one image at a time")
    return np.add.accumulate(np.add.accumulate(x, axis=2, dtype=np.float32), axis=3, dtype=np.float32)


AREAS = declare(
    families.RUNNING,
    Row("experimental.intimg", "(input_tensor: Tensor)",
        _area,
        "The sum of everything up to and with each element of dimensions 1 and 2 of [1, W, H, C].",
        integers=False, golden=lambda x, **_: x.cumsum(1).cumsum(2)),
    engine=stacks,
)  # fmt: skip
