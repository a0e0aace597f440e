"""tt-symbiote's policy for robots: pictures and words to steps of actions, twice, against PyTorch."""

import contextlib
import io
import json
import math
import warnings
from types import SimpleNamespace

import torch
import ttnn
from models import correlation
from torch.nn import functional
from tt_symbiote import set_device
from tt_symbiote.models.pi05 import configuration_pi05, modeling_pi05

# A module that fails falls back to what it was made of, which here computes nothing.
warnings.filterwarnings("error", message=".*TTNN forward failed.*")
ACTION = 32
SETTINGS = configuration_pi05.Pi0_5ModelConfig(num_denoising_steps=3, max_seq_len=256)
SETTINGS.vlm_config = LANGUAGE = configuration_pi05.GemmaConfig(512, 2, 1024, 8, 1, 64)
SETTINGS.expert_config = EXPERT = configuration_pi05.GemmaConfig(256, 2, 512, 8, 1, 64)
SETTINGS.siglip_config = VISION = configuration_pi05.SigLIPConfig(288, 2, 4, 112, intermediate_size=608)


def matrix(rows, columns):
    return torch.randn(rows, columns) / columns**0.5


def around(middle, *shape):
    return middle + 0.1 * torch.randn(shape)


def attention_weights(width, queries, keys, out="o_proj"):
    names = {"q_proj": queries, "k_proj": keys, "v_proj": keys}
    weights = {name: matrix(rows, width) for name, rows in names.items()}
    return weights | {out: matrix(width, queries)}


def decoder_block(sizes, *, modulated):
    attention = attention_weights(sizes.width, sizes.num_heads * sizes.head_dim, sizes.head_dim)
    shapes = {
        "gate_proj": (sizes.mlp_dim, sizes.width),
        "up_proj": (sizes.mlp_dim, sizes.width),
        "down_proj": (sizes.width, sizes.mlp_dim),
    }
    block = {
        "attention": SimpleNamespace(**attention),
        "mlp": SimpleNamespace(**{name: matrix(*shape) for name, shape in shapes.items()}),
    }
    if modulated:
        for name in ("pre_attn_mod", "pre_ffw_mod"):
            block[f"{name}_weight"] = 0.3 * matrix(3 * sizes.width, sizes.width)
            block[f"{name}_bias"] = around(0, 3 * sizes.width)
    else:
        block["input_layernorm_weight"] = around(0, sizes.width)
        block["post_attention_layernorm_weight"] = around(0, sizes.width)
    return SimpleNamespace(**block)


def vision_block():
    width, hidden = VISION.hidden_size, VISION.intermediate_size
    biases = {f"{name}_bias": around(0, width) for name in ("q", "k", "v", "out")}
    mlp = {"fc1_weight": matrix(hidden, width), "fc1_bias": around(0, hidden)}
    mlp |= {"fc2_weight": matrix(width, hidden), "fc2_bias": around(0, width)}
    norms = {
        f"ln{i}_{name}": around(middle, width)
        for i in (1, 2)
        for name, middle in (("weight", 1), ("bias", 0))
    }
    attention = attention_weights(width, width, width, "out_proj") | biases
    return SimpleNamespace(attention=SimpleNamespace(**attention), mlp=SimpleNamespace(**mlp), **norms)


def model():
    """What a checkpoint would give: raw tensors by name."""
    width, wide = VISION.hidden_size, EXPERT.width
    patches = SimpleNamespace(
        conv_weight=torch.randn(width, 3, 14, 14) / 588**0.5, conv_bias=around(0, width)
    )
    tower = SimpleNamespace(
        patch_embed=patches,
        position_embedding=around(0, VISION.num_patches, width),
        blocks=[vision_block() for _ in range(VISION.num_hidden_layers)],
        post_layernorm_weight=around(1, width),
        post_layernorm_bias=around(0, width),
    )
    backbone = SimpleNamespace(
        vision_tower=tower,
        mm_projector=SimpleNamespace(weight=matrix(LANGUAGE.width, width), bias=around(0, LANGUAGE.width)),
        vlm_blocks=[decoder_block(LANGUAGE, modulated=False) for _ in range(LANGUAGE.depth)],
        expert_blocks=[decoder_block(EXPERT, modulated=True) for _ in range(EXPERT.depth)],
        vlm_embed_tokens=matrix(100, LANGUAGE.width),
        vlm_norm=around(0, LANGUAGE.width),
        expert_norm_mod_weight=0.3 * matrix(3 * wide, wide),
        expert_norm_mod_bias=around(0, 3 * wide),
    )
    shapes = {
        "action_in": (wide, ACTION),
        "action_out": (ACTION, wide),
        "time_mlp_in": (wide, wide),
        "time_mlp_out": (wide, wide),
    }
    suffix = {}
    for name, shape in shapes.items():
        suffix |= {f"{name}_weight": matrix(*shape), f"{name}_bias": around(0, shape[0])}
    return SimpleNamespace(
        backbone=backbone, suffix_embedding=SimpleNamespace(**suffix), prefix_embedding=None
    )


def seen(picture, backbone):
    """A picture's tokens in the width of the language model."""
    tower, width = backbone.vision_tower, (VISION.hidden_size,)
    given = tower.patch_embed
    x = functional.conv2d(picture, given.conv_weight, given.conv_bias, stride=14).flatten(2).transpose(1, 2)
    x = x + tower.position_embedding
    for block in tower.blocks:
        weights, rows = (
            block.attention,
            functional.layer_norm(x, width, block.ln1_weight, block.ln1_bias, 1e-6),
        )
        parts = (
            functional.linear(rows, getattr(weights, f"{name}_proj"), getattr(weights, f"{name}_bias"))
            for name in "qkv"
        )
        heads = (part.unflatten(-1, (VISION.num_attention_heads, -1)).transpose(1, 2) for part in parts)
        found = functional.scaled_dot_product_attention(*heads).transpose(1, 2).flatten(2)
        x = x + functional.linear(found, weights.out_proj, weights.out_bias)
        rows, mlp = functional.layer_norm(x, width, block.ln2_weight, block.ln2_bias, 1e-6), block.mlp
        rows = functional.gelu(functional.linear(rows, mlp.fc1_weight, mlp.fc1_bias), approximate="tanh")
        x = x + functional.linear(rows, mlp.fc2_weight, mlp.fc2_bias)
    x = functional.layer_norm(x, width, tower.post_layernorm_weight, tower.post_layernorm_bias, 1e-6)
    return functional.linear(x, backbone.mm_projector.weight, backbone.mm_projector.bias)


def normed(x):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)


def attended(weights, sizes, x, first, past=()):
    """Attention of rows from position `first` on, with the keys and values before them; and theirs."""
    q, k, v = (functional.linear(x, getattr(weights, name)) for name in ("q_proj", "k_proj", "v_proj"))
    half = sizes.head_dim // 2
    angles = torch.outer(torch.arange(first, first + x.shape[1]), 10000.0 ** -(torch.arange(half) / half))
    cos, sin = angles.repeat(1, 2).cos(), angles.repeat(1, 2).sin()

    def turned(rows):
        one, other = rows.chunk(2, -1)
        return rows * cos + torch.cat([-other, one], -1) * sin

    q, own = turned(q.unflatten(-1, (sizes.num_heads, -1)).transpose(1, 2)), (turned(k[:, None]), v[:, None])
    k, v = (torch.cat(rows, 2).expand(-1, sizes.num_heads, -1, -1) for rows in zip(*past, own, strict=True))
    found = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
    return functional.linear(found, weights.o_proj), own


def gated(mlp, x):
    gate = functional.gelu(functional.linear(x, mlp.gate_proj), approximate="tanh")
    return functional.linear(gate * functional.linear(x, mlp.up_proj), mlp.down_proj)


def actions(plain, pictures, words, noise):
    backbone, suffix = plain.backbone, plain.suffix_embedding
    x = torch.cat(
        [*(seen(p, backbone) for p in pictures), backbone.vlm_embed_tokens[words] * LANGUAGE.width**0.5], 1
    )
    length, kept = x.shape[1], []
    for block in backbone.vlm_blocks:
        update, own = attended(block.attention, LANGUAGE, normed(x) * (1 + block.input_layernorm_weight), 0)
        kept.append(own)
        x = x + update
        x = x + gated(block.mlp, normed(x) * (1 + block.post_attention_layernorm_weight))

    def layer(name, rows):
        return functional.linear(rows, getattr(suffix, f"{name}_weight"), getattr(suffix, f"{name}_bias"))

    def velocity(state, time):
        half = EXPERT.width // 2
        turns = time * 2 * math.pi / (4e-3 * 1000 ** torch.linspace(0, 1, half))
        when = layer("time_mlp_in", torch.cat([turns.sin(), turns.cos()])[None])
        when = functional.silu(layer("time_mlp_out", functional.silu(when)))[:, None]
        rows = layer("action_in", state)
        for block, past in zip(backbone.expert_blocks, kept, strict=True):
            scale, shift, gate = functional.linear(
                when, block.pre_attn_mod_weight, block.pre_attn_mod_bias
            ).chunk(3, -1)
            update, _ = attended(block.attention, EXPERT, normed(rows) * (1 + scale) + shift, length, (past,))
            rows = rows + gate * update
            scale, shift, gate = functional.linear(
                when, block.pre_ffw_mod_weight, block.pre_ffw_mod_bias
            ).chunk(3, -1)
            rows = rows + gate * gated(block.mlp, normed(rows) * (1 + scale) + shift)
        weight, bias = backbone.expert_norm_mod_weight, backbone.expert_norm_mod_bias
        scale, shift, _ = functional.linear(when, weight, bias).chunk(3, -1)
        return layer("action_out", normed(rows) * (1 + scale) + shift)

    count, state = SETTINGS.num_denoising_steps, noise
    for step in range(count):
        state = state - velocity(state, 1 - step / count) / count
    return state


def put(value, dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT):
    return ttnn.from_torch(value, dtype=dtype, layout=layout, device=DEVICE)


torch.manual_seed(0)
DEVICE = ttnn.open_device(device_id=0, trace_region_size=100_000_000)
found = {}
with torch.no_grad(), contextlib.redirect_stdout(io.StringIO()):
    plain = model()
    own = modeling_pi05.TTNNPi05Model.from_torch(plain, SETTINGS)
    set_device(own, DEVICE)
    pictures = [torch.randn(1, 3, VISION.image_size, VISION.image_size) for _ in range(2)]
    words, noise = torch.randint(0, 100, (1, 32)), torch.randn(1, SETTINGS.action_horizon, ACTION)
    moved = actions(plain, pictures, words, noise) - noise
    for turn in ("first", "second"):
        ids = put(words.int(), ttnn.uint32, ttnn.ROW_MAJOR_LAYOUT)
        result = own.sample_actions([put(p) for p in pictures], None, ids, None, None, noise)
        found[turn] = correlation(moved, ttnn.to_torch(result).float() - noise)
ttnn.close_device(DEVICE)
print(json.dumps(found))
