"""Heads of the widths that one model has, against NumPy."""

from __future__ import annotations

import pytest

from tests.runtime.ops.attention.test_attention import sample
from tests.runtime.ops.attention.test_latent_attention import call
from tests.runtime.ops.tensors import F32, put
from tt_run.runtime.mesh import MeshDevice

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("float32_too")]
pytest.importorskip("torch")


def test_heads_of_other_models(one: MeshDevice) -> None:
    with pytest.raises(RuntimeError, match="needs a width of 4672, got 128"):
        call("experimental.nlp_create_qkv_heads_falcon7b", put(one, sample(F32, 2, 1, 8, 128)))
