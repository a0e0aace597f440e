"""tt-bio: blocks of structure models, a protein language model and its own gradients on tensors of ttnn, against PyTorch."""

import importlib
import json
import os
from pathlib import Path

import torch
import ttnn
from models import correlation
from torch import nn
from torch.nn import functional
from tt_bio import metal_overlay

# Its fused paths are kernels of its own, which only hardware runs: this chooses operations of ttnn, and no kernel's source is changed.
os.environ["TT_BIO_ESMC_QKRH"] = os.environ["TT_BIO_AF2_TRANSITION_WS"] = "0"
metal_overlay.enable = lambda names: Path()
DEVICE = ttnn.open_device(device_id=0)
# The package's own looks for boards of this machine; modules take it by name when they are imported.
importlib.import_module("tt_bio.tenstorrent").get_device = lambda trace=None: DEVICE
abodybuilder3, abodybuilder3_reference, af2, af2_reference, autograd, esmc, tenstorrent = (
    importlib.import_module(f"tt_bio.{name}")
    for name in (
        "abodybuilder3",
        "abodybuilder3_reference",
        "af2",
        "af2_reference",
        "autograd",
        "esmc",
        "tenstorrent",
    )
)


def drawn(module, scale=1.0):
    """The module with random weights: matrices by their width, other parameters near 1 and 0."""
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            noise = torch.randn_like(parameter)
            if parameter.ndim > 1:
                parameter.copy_(scale * noise / parameter.shape[-1] ** 0.5)
            else:
                parameter.copy_(0.1 * noise + ("weight" in name))
    return module.eval()


def structure():
    """Angles and states of three blocks with invariant points, in float32."""
    settings = abodybuilder3_reference.ABB3Config(no_blocks=3)
    plain = drawn(abodybuilder3_reference.ABB3StructureModule(settings), 0.7)
    own = abodybuilder3.DeviceABB3(plain.state_dict(), settings)
    residues = torch.arange(40)[None]
    kinds, mask = torch.randint(0, 20, (1, 40)), torch.ones(1, 40)
    single, pair = abodybuilder3_reference.single_and_pair_features(kinds, (residues < 20).long(), residues)
    square = mask[:, :, None] * mask[:, None, :]
    expected = plain(single, pair, kinds, mask)
    put = abodybuilder3.to_device_fp32
    made = own(put(single), put(pair), put(square[:, None]), put((settings.inf * (square - 1))[:, None]))
    sines = ttnn.to_torch(made["unnorm_sin"][-1])[..., : settings.no_angles]
    return min(
        correlation(expected["states"][-1], ttnn.to_torch(made["states"][-1])),
        correlation(expected["unnormalized_angles"][-1][..., 0], sines),
    )


def evoformer():
    """Aligned sequences and pairs of residues after one block: attention along rows and columns, triangles, transitions."""
    plain = drawn(af2_reference.EvoformerBlock(256, 128, extra_msa=False), 0.7)
    fidelity = ttnn.WormholeComputeKernelConfig(
        math_fidelity=ttnn.MathFidelity.HiFi4, math_approx_mode=False, fp32_dest_acc_en=True
    )
    own = af2.AF2EvoformerBlock(tenstorrent.WeightScope.wrap(plain.state_dict()), fidelity)
    own.rne_kernel = False
    sequences, pairs = torch.randn(16, 64, 256), torch.randn(64, 64, 128)
    expected = plain(sequences, pairs, torch.ones(16, 64), torch.ones(64, 64))
    given = (
        ttnn.from_torch(x[None], dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE)
        for x in (sequences, pairs)
    )
    made = own(*given)
    return min(
        correlation(wanted, ttnn.to_torch(x).reshape(wanted.shape))
        for wanted, x in zip(expected, made, strict=True)
    )


class Attention(nn.Module):
    """Attention with norms of queries and keys, and rotary positions."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.layernorm_qkv = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 3 * width, bias=False))
        self.out_proj = nn.Linear(width, width, bias=False)
        self.q_ln, self.k_ln = (nn.LayerNorm(width, bias=False) for _ in range(2))

    def forward(self, x):
        queries, keys, values = self.layernorm_qkv(x).chunk(3, -1)

        def split(rows):
            return rows.unflatten(-1, (self.heads, -1)).transpose(1, 2)

        half = x.shape[-1] // self.heads // 2
        steps = torch.outer(torch.arange(x.shape[1]), 10000 ** (-torch.arange(half) / half))
        turn = torch.polar(torch.ones_like(steps), steps)

        def turned(rows):
            both = torch.complex(rows[..., :half], rows[..., half:]) * turn
            return torch.cat([both.real, both.imag], -1)

        pairs = turned(split(self.q_ln(queries))), turned(split(self.k_ln(keys)))
        return self.out_proj(
            functional.scaled_dot_product_attention(*pairs, split(values)).transpose(1, 2).flatten(2)
        )


class Gate(nn.Module):
    """silu of one half times the other."""

    def forward(self, x):
        one, other = x.chunk(2, -1)
        return functional.silu(one) * other


class Language(nn.Module):
    """The language model whose weights tt-bio reads."""

    def __init__(self, width, heads, layers):
        super().__init__()
        hidden = -(-8 * width // 3 // 256) * 256
        self.scale = (layers / 36) ** 0.5
        self.embed = nn.Embedding(64, width)
        self.transformer = nn.Module()
        self.transformer.blocks = nn.ModuleList()
        for _ in range(layers):
            block = nn.Module()
            block.attn = Attention(width, heads)
            block.ffn = nn.Sequential(
                nn.LayerNorm(width),
                nn.Linear(width, 2 * hidden, bias=False),
                Gate(),
                nn.Linear(hidden, width, bias=False),
            )
            self.transformer.blocks.append(block)
        self.transformer.norm = nn.LayerNorm(width, bias=False)
        self.sequence_head = nn.Sequential(
            nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width), nn.Linear(width, 64)
        )

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.transformer.blocks:
            x = x + block.attn(x) / self.scale
            x = x + block.ffn(x) / self.scale
        return self.sequence_head(self.transformer.norm(x))


def language():
    """Logits of a small model in bfloat16."""
    plain, own = drawn(Language(256, 4, 2)), esmc.ESMC(256, 4, 2)
    own.load_state_dict(plain.state_dict(), strict=False)
    tokens = torch.randint(4, 24, (1, 64))
    return correlation(plain(tokens), own(tokens)[0][:, :64])


def gradients():
    """The least correlation of the gradients that the package's tape makes of a gated layer with attention."""
    shapes = {
        "x": (2, 64, 96),
        "w": (96, 128),
        "b": (1, 128),
        "scale": (1, 96),
        "shift": (1, 96),
        "out": (64, 96),
    }
    drawn_values = {name: torch.randn(shape) / shape[0] ** 0.5 for name, shape in shapes.items()}
    plain = {name: value.clone().requires_grad_() for name, value in drawn_values.items()}
    seed = torch.randn(2, 64, 96)
    with torch.enable_grad():
        rows = functional.layer_norm(plain["x"], (96,), plain["scale"][0], plain["shift"][0])
        one, other = (rows @ plain["w"] + plain["b"]).chunk(2, -1)
        rows = functional.silu(one) * torch.sigmoid(other)
        weights = torch.softmax(rows @ rows.transpose(-1, -2) / 8, -1)
        (torch.relu(weights @ rows @ plain["out"]) + plain["x"]).backward(seed)

    def put(value):
        return ttnn.from_torch(value, dtype=ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)

    own = {name: autograd.parameter(put(value)) for name, value in drawn_values.items()}
    rows = autograd.linear(autograd.layer_norm(own["x"], own["scale"], own["shift"]), own["w"], own["b"])
    one, other = autograd.narrow(rows, -1, 0, 64), autograd.narrow(rows, -1, 64, 64)
    rows = autograd.mul(autograd.silu(one), autograd.sigmoid(other))
    weights = autograd.softmax(autograd.scale(autograd.matmul(rows, rows, transpose_b=True), 1 / 8))
    result = autograd.matmul(autograd.matmul(weights, rows), own["out"])
    autograd.backward([autograd.add(autograd.relu(result), own["x"])], [put(seed)])
    return min(correlation(plain[name].grad, ttnn.to_torch(own[name].grad)) for name in shapes)


torch.manual_seed(0)
with torch.no_grad():
    found = {made.__name__: made() for made in (structure, evoformer, language, gradients)}
ttnn.close_device(DEVICE)
print(json.dumps(found))
