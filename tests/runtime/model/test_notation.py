"""How tables write the work of a row."""

from __future__ import annotations

import pytest

from tt_run.runtime.model.validation import notation


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2048x1024x512", (2048, 1024, 512, 1)),
        ("2k x 1K x 2,048", (2048, 1024, 2048, 1)),
        ("4x2048x1024x512", (2048, 1024, 512, 4)),
        ("64^3", (64, 64, 64, 1)),
        ("64³", (64, 64, 64, 1)),
        ("m=2048 k=64 n=32", (2048, 64, 32, 1)),
        ("M2048 K64 N32 b2", (2048, 64, 32, 2)),
        ("m=2048 k=64", None),
        ("[1,1,32,64] x [1,1,64,16]", (32, 64, 16, 1)),
        ("[2,3,32,64] x [64,16]", (192, 64, 16, 1)),
        ("[2,3,32,64] x [2,3,64,16]", (32, 64, 16, 6)),
        ("[32,64] x [32,16]", None),
        ("8x32x128x64 x 8x32x64x128", (128, 64, 128, 256)),
        ("[32,64,16]", (32, 64, 16, 1)),
        ("[32,64]", None),
        ("[1,1,32,64]", None),
        ("32x64", None),
        ("nothing", None),
    ],
)
def test_a_product(text: str, found: tuple[int, int, int, int] | None) -> None:
    assert notation.product(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("BFLOAT16 HiFi2", ["bfloat16"]),
        ("bf16 x bfp8", ["bfloat16", "bfloat8_b"]),
        ("bf4 and fp32, bfloat8_b", ["bfloat4_b", "float32", "bfloat8_b"]),
        ("int8", []),
    ],
)
def test_formats_in_their_order(text: str, found: list[str]) -> None:
    assert notation.formats(text) == found


@pytest.mark.parametrize(
    ("text", "weights", "found"),
    [
        ("bf16 hifi4", "bfloat8_b", "HiFi4"),
        ("bf16 LOFI", "bfloat16", "LoFi"),
        ("", "bfloat16", "HiFi2"),
        ("", "float32", "HiFi2"),
        ("", "bfloat8_b", "LoFi"),
        ("", "bfloat4_b", "LoFi"),
    ],
)
def test_a_fidelity(text: str, weights: str, found: str) -> None:
    assert notation.fidelity(text, weights) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("4096 B", 4096),
        ("1.5 MiB", 1.5 * 2**20),
        ("64KB", 65536),
        ("2 GB", 2**31),
        ("16 bytes", 16),
        ("v1.5 B", None),
        ("16", None),
    ],
)
def test_bytes(text: str, found: float | None) -> None:
    assert notation.nbytes(text) == found


@pytest.mark.parametrize(
    ("text", "found"), [("links=2", 2), ("num_links: 3", 3), ("4 links", 4), ("links=0", 1), ("Ring", None)]
)
def test_links(text: str, found: int | None) -> None:
    assert notation.links(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[1,1,32,2048]", [1, 1, 32, 2048]),
        ("(4, 8,)", [4, 8]),
        ("1x1x32", [1, 1, 32]),
        ("3 x 4", [3, 4]),
        ("32", None),
    ],
)
def test_dimensions(text: str, found: list[int] | None) -> None:
    assert notation.dimensions(text) == found


@pytest.mark.parametrize(
    ("word", "text", "found"),
    [("batch", "batch 32", 32), ("TP", "Llama tp=8", 8), ("DP", "TP8xDP4", 4), ("batch", "rebatch 3", None)],
)
def test_the_number_after_a_word(word: str, text: str, found: int | None) -> None:
    assert notation.after(word, text) == found
