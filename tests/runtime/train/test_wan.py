"""Wan 2.2 beside PyTorch: what is made of latents, times and places; a whole expert with its gradients; cut over devices; loaded from files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.runtime.train.pytorch import torch_or_skip
from tests.runtime.train.test_building import opened_mesh  # noqa: F401
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.models.runner import RunnerType
from tt_run.runtime.train.models.safetensors import write
from tt_run.runtime.train.models.wan import latents
from tt_run.runtime.train.models.wan.transformer import WanAttention, WanConfig, WanTransformer3D
from tt_run.runtime.train.models.wan.weights import load_expert_from_safetensors, to_ttml_array, to_ttml_name
from tt_run.runtime.train.ops.loss import mse_loss
from tt_run.runtime.train.optimizers.sgd import SGD, SGDConfig
from tt_run.runtime.train.parallel.sharded_parameters import whole_parameter

Array = npt.NDArray[Any]
SMALL = WanConfig(
    dim=64, ffn_dim=96, num_layers=2, num_heads=2, in_channels=4, out_channels=4, text_dim=48, freq_dim=32, rope_max_seq_len=16
)  # fmt: skip
LATENT, TEXT = (2, 4, 2, 4, 8), 5
TIMES = [875.0, 3.0]
NAMES = {"patch_embed": "patch_embedding", ".to_out.": ".to_out.0.", ".ffn.ff1.": ".ffn.net.0.proj.", ".ffn.ff2.": ".ffn.net.2."}  # fmt: skip


def drawn() -> tuple[Array, Array, Array]:
    """Latents with noise, texts, and what the model shall give."""
    draw = np.random.default_rng(5)
    return (
        draw.standard_normal(LATENT, np.float32),
        draw.standard_normal((LATENT[0], 1, TEXT, SMALL.text_dim), np.float32),
        draw.standard_normal(LATENT, np.float32),
    )


def made(config: WanConfig) -> tuple[WanTransformer3D, dict[str, Array]]:
    """A model whose parameters are those that its name draws, and they."""
    model, held = WanTransformer3D(config), {}
    for number, (name, tensor) in enumerate(sorted(model.named_parameters())):
        shape = whole_parameter(tensor).shape
        scale = 0.3 if len(shape) < 4 or shape[2] < 8 else 0.1
        held[name] = np.random.default_rng(number).standard_normal(shape, np.float32) * np.float32(scale)
    return model, held


def files_of(held: dict[str, Array], folder: Path) -> str:
    """The arrays as the files of diffusers have them."""
    theirs = {}
    for name, array in held.items():
        own = array.reshape([n for n in array.shape[:-1] if n > 1] + [array.shape[-1]])
        own = own[None] if name.endswith("scale_shift_table") else own
        if name == "patch_embed.weight":
            own = own.reshape(SMALL.dim, SMALL.in_channels, *SMALL.patch_size)
        for ours, other in NAMES.items():
            name = name.replace(ours, other)
        theirs[name] = own
    (folder / "transformer").mkdir(exist_ok=True)
    write(folder / "transformer" / "model.safetensors", theirs)
    return str(folder)


def stepped(model: WanTransformer3D, mapper: Any = None) -> tuple[float, dict[str, Array]]:
    """The loss of one pass, and the gradients that there are."""
    noisy, text, wanted = drawn()
    rope = latents.build_rope_params(
        head_dim=SMALL.head_dim, patch_size=SMALL.patch_size, latent_shape=LATENT, max_seq_len=16
    )
    out = model(
        Tensor.from_numpy(latents.patchify(noisy, SMALL.patch_size)), TIMES, Tensor.from_numpy(text), rope
    )
    loss = mse_loss(out, Tensor.from_numpy(latents.patchify_output_order(wanted, SMALL.patch_size)))
    loss.backward()
    held = dict(model.named_parameters())
    return float(loss.to_numpy().item()), {
        name: whole_parameter(Tensor(tensor.get_grad()))
        for name, tensor in held.items()
        if tensor.is_grad_initialized()
    }


def twin(torch: Any, p: dict[str, Any]) -> Any:
    """The loss of the same pass in PyTorch; `p` holds parameters by name."""
    noisy, text, wanted = (torch.tensor(array) for array in drawn())
    nn, dim, heads = torch.nn.functional, SMALL.dim, SMALL.num_heads

    def linear(x: Any, name: str) -> Any:
        return nn.linear(x, p[f"{name}.weight"].squeeze(0).squeeze(0), p[f"{name}.bias"].reshape(-1))

    def normed(x: Any, weight: Any = None, bias: Any = None) -> Any:
        return nn.layer_norm(x, (dim,), weight, bias, 1e-6)

    def attention(x: Any, source: Any, name: str, turned: bool) -> Any:
        def heads_of(y: Any, norm: str | None) -> Any:
            if norm:
                y = nn.rms_norm(y, (dim,), p[f"{name}.{norm}.weight"].reshape(-1), SMALL.eps)
            y = y.unflatten(-1, (heads, -1)).transpose(1, 2)
            return turn(y) if turned and norm else y

        q, k = (
            heads_of(linear(x, f"{name}.to_q"), "norm_q"),
            heads_of(linear(source, f"{name}.to_k"), "norm_k"),
        )
        out = nn.scaled_dot_product_attention(q, k, heads_of(linear(source, f"{name}.to_v"), None))
        return linear(out.transpose(1, 2).flatten(2), f"{name}.to_out")

    def turn(y: Any) -> Any:
        """Pairs of features as complex numbers, turned by frame, row and column."""
        grid = latents.grid_size(LATENT, SMALL.patch_size)
        parts = []
        for axis, width in enumerate(latents.axis_split(SMALL.head_dim)):
            places = (
                torch.arange(grid[axis])
                .reshape([-1 if a == axis else 1 for a in range(3)])
                .expand(grid)
                .flatten()
            )
            parts.append(
                torch.outer(places.double(), 10000.0 ** -(torch.arange(0, width, 2).double() / width))
            )
        angles = torch.cat(parts, -1)
        turns = torch.complex(*(f(angles).float() for f in (torch.cos, torch.sin)))
        return torch.view_as_real(
            torch.view_as_complex(y.unflatten(-1, (-1, 2)).contiguous()) * turns
        ).flatten(-2)

    kernel = p["patch_embed.weight"].reshape(dim, SMALL.in_channels, *SMALL.patch_size)
    x = (
        nn.conv3d(noisy, kernel, p["patch_embed.bias"].reshape(-1), SMALL.patch_size)
        .flatten(2)
        .transpose(1, 2)
    )
    at = "condition_embedder"
    times = torch.tensor(TIMES)[:, None] * 10000.0 ** -(torch.arange(16) / 16)
    told = torch.cat([times.cos(), times.sin()], -1)
    told = linear(nn.silu(linear(told, f"{at}.time_embedder.linear_1")), f"{at}.time_embedder.linear_2")
    blocks = linear(nn.silu(told), f"{at}.time_proj").unflatten(-1, (6, dim)).detach()
    text = nn.gelu(linear(text[:, 0], f"{at}.text_embedder.linear_1"), approximate="tanh")
    text = linear(text, f"{at}.text_embedder.linear_2").detach()
    for number in range(SMALL.num_layers):
        block = f"blocks.{number}"
        moved = (p[f"{block}.scale_shift_table"][0].detach() + blocks).chunk(6, 1)
        x = x + attention(u := normed(x) * (1 + moved[1]) + moved[0], u, f"{block}.attn1", True) * moved[2]
        asking = normed(x, p[f"{block}.norm2.weight"].reshape(-1), p[f"{block}.norm2.bias"].reshape(-1))
        x = x + attention(asking, text, f"{block}.attn2", False)
        inner = nn.gelu(linear(normed(x) * (1 + moved[4]) + moved[3], f"{block}.ffn.ff1"), approximate="tanh")
        x = x + linear(inner, f"{block}.ffn.ff2") * moved[5]
    shift, scale = (p["scale_shift_table"][0].detach() + told.detach()[:, None]).chunk(2, 1)
    out = linear(normed(x) * (1 + scale) + shift, "proj_out")
    grid = latents.grid_size(LATENT, SMALL.patch_size)
    rows = wanted.unflatten(2, (grid[0], -1)).unflatten(4, (grid[1], -1)).unflatten(6, (grid[2], -1))
    return nn.mse_loss(out, rows.permute(0, 2, 4, 6, 3, 5, 7, 1).flatten(1, 3).flatten(2))


@pytest.mark.torch
def test_an_expert_against_torch(opened_mesh: Any, tmp_path: Path) -> None:  # noqa: F811
    torch = torch_or_skip()
    opened_mesh((1, 1))
    model, held = made(SMALL)
    assert load_expert_from_safetensors(model, files_of(held, tmp_path)) == len(held)
    rounded = {name: whole_parameter(tensor) for name, tensor in model.named_parameters()}
    twins = {
        name: torch.tensor(array.astype(np.float32), requires_grad=True) for name, array in rounded.items()
    }
    loss, gradients = stepped(model)
    expected = twin(torch, twins)
    expected.backward()
    np.testing.assert_allclose(loss, expected.item(), rtol=1e-5)
    assert gradients.keys() == {name for name, tensor in twins.items() if tensor.grad is not None}
    assert not {"scale_shift_table", "condition_embedder.time_proj.weight"} & gradients.keys()
    for name, found in gradients.items():
        whole = twins[name].grad.numpy()
        assert np.linalg.norm(found - whole) <= 1e-4 * np.linalg.norm(whole), name


def test_all_forms_have_the_numbers_of_one_device(opened_mesh: Any, tmp_path: Path) -> None:  # noqa: F811
    opened_mesh((1, 1))
    model, held = made(SMALL)
    folder = files_of(held, tmp_path)
    load_expert_from_safetensors(model, folder)
    loss, gradients = stepped(model)
    again = WanTransformer3D(replace(SMALL, runner_type=RunnerType.MemoryEfficient, init_weights=False))
    assert not whole_parameter(dict(again.named_parameters())["blocks.0.attn1.to_q.weight"]).any()
    load_expert_from_safetensors(again, folder)
    found, slopes = stepped(again)
    assert found == loss and slopes.keys() == gradients.keys()
    assert all(slopes[name].tobytes() == gradients[name].tobytes() for name in gradients)
    SGD(again.parameters(), SGDConfig.make(1.0)).step()
    alone = {name: whole_parameter(tensor) for name, tensor in again.named_parameters()}
    opened_mesh((1, 2), ("dp", "tp"))
    cut = WanTransformer3D(replace(SMALL, use_tp=True))
    load_expert_from_safetensors(cut, folder)
    found, _ = stepped(cut)
    np.testing.assert_allclose(found, loss, rtol=1e-5)
    SGD(cut.parameters(), SGDConfig.make(1.0)).step()
    for name, tensor in cut.named_parameters():
        np.testing.assert_allclose(whole_parameter(tensor), alone[name], rtol=0.01, err_msg=name)  # bfloat16


def test_latents_and_rows() -> None:
    noisy = drawn()[0]
    grid = latents.grid_size(LATENT, SMALL.patch_size)
    rows = latents.patchify_output_order(noisy, SMALL.patch_size)
    assert rows.shape == (2, 1, 16, latents.patch_features(4, SMALL.patch_size))
    np.testing.assert_array_equal(latents.unpatchify(rows, SMALL.patch_size, grid, 4), noisy)
    other = latents.patchify(noisy, SMALL.patch_size)
    assert not np.array_equal(other, rows)
    np.testing.assert_array_equal(np.sort(other, axis=None), np.sort(rows, axis=None))
    with pytest.raises(ValueError, match=r"latent \(2, 4, 8\) is not divisible by patch \(1, 3, 2\)"):
        latents.patchify(noisy, (1, 3, 2))
    with pytest.raises(
        ValueError, match="axis 2 needs 4 positions but max_seq_len is 3; help: max_seq_len=4"
    ):
        latents.build_tables(head_dim=32, patch_size=SMALL.patch_size, latent_shape=LATENT, max_seq_len=3)
    plain = latents.timestep_features([2.0], 4, flip_sin_to_cos=False)
    np.testing.assert_array_equal(plain[:, [2, 3, 0, 1]], latents.timestep_features([2.0], 4))


def test_what_an_expert_refuses(opened_mesh: Any, tmp_path: Path) -> None:  # noqa: F811
    opened_mesh((1, 1))
    assert to_ttml_name("blocks.7.ffn.net.0.proj.bias") == "blocks.7.ffn.ff1.bias"
    assert to_ttml_name("ffn.net.2.weight") == "ffn.ff2.weight"
    assert to_ttml_name("blocks.0.norm2.bias") == "blocks.0.norm2.bias"
    with pytest.raises(ValueError, match="model wants"):
        to_ttml_array("proj_out.weight", np.zeros((8, 4), np.float32), (1, 1, 8, 5))
    with pytest.raises(ValueError, match="dim 64 must be divisible by num_heads 5; help: dim=65"):
        replace(SMALL, num_heads=5)
    with pytest.raises(
        ValueError, match=r"patch_size must be frames, rows and columns of a patch, got \(1, 2\)"
    ):
        replace(SMALL, patch_size=(1, 2))
    with pytest.raises(ValueError, match="must be t2v or i2v, got 'v2v'"):
        replace(SMALL, model_type="v2v")
    x = Tensor.from_numpy(np.zeros((1, 1, 4, 64), np.float32))
    with pytest.raises(ValueError, match="requires rope_params"):
        WanAttention(SMALL, is_self=True)(x)
    with pytest.raises(ValueError, match="requires a context"):
        WanAttention(SMALL, is_self=False)(x)
    model, held = made(replace(SMALL, num_layers=1))
    with pytest.raises(FileNotFoundError, match="no transformer_2/ under"):
        load_expert_from_safetensors(model, str(tmp_path), "transformer_2")
    held.pop("proj_out.bias")
    folder = files_of({**held, "blocks.0.other": held["scale_shift_table"]}, tmp_path)
    with pytest.raises(RuntimeError, match=r"1 parameters were not initialised, e.g. \['proj_out.bias'\]"):
        load_expert_from_safetensors(model, folder)
    assert load_expert_from_safetensors(model, folder, strict=False) == len(held)
