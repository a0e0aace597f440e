"""tt-symbiote over eight devices: attention with a paged cache, mixtures of experts, norms and embeddings, against PyTorch."""

import contextlib
import copy
import io
import json
import warnings
from types import SimpleNamespace

import torch
import ttnn
from models import correlation
from torch import nn
from torch.nn import functional
from transformers import Glm4MoeConfig
from transformers.models.glm4_moe.modeling_glm4_moe import Glm4MoeMoE
from transformers.models.llama.modeling_llama import LlamaRMSNorm
from tt_symbiote import set_device
from tt_symbiote.modules import ttnn_attention, ttnn_embedding, ttnn_moe, ttnn_normalization

# A module that fails falls back to PyTorch with a warning: no result of ours would be in the comparison.
warnings.filterwarnings("error", message=".*TTNN forward failed.*")
WIDTH, HEADS, KEYS, POSITIONS = 512, 8, 2, 64


def put(value, dim=-1, **words):
    mapper = ttnn.ReplicateTensorToMesh(MESH) if dim is None else ttnn.ShardTensorToMesh(MESH, dim=dim)
    words = {"dtype": ttnn.bfloat16, "layout": ttnn.TILE_LAYOUT, **words}
    return ttnn.from_torch(value, device=MESH, mesh_mapper=mapper, **words)


def joined(value):
    return ttnn.to_torch(value, mesh_composer=ttnn.ConcatMeshToTensor(MESH, dim=-1))


def placed(module):
    set_device(module, MESH)
    return module


class Attention(nn.Module):
    """Attention of the form that tt-symbiote takes over: one projection, norms of heads, angles for half of each head."""

    def __init__(self):
        super().__init__()
        self.layer_idx = 0
        self.config = SimpleNamespace(
            hidden_size=WIDTH,
            num_attention_heads=HEADS,
            num_key_value_heads=KEYS,
            partial_rotary_factor=0.5,
            use_qk_norm=True,
            rope_theta=10000.0,
            max_position_embeddings=256,
        )
        head = WIDTH // HEADS
        self.sizes = [HEADS * head, KEYS * head, KEYS * head]
        self.query_key_value = nn.Linear(WIDTH, sum(self.sizes), bias=False)
        self.dense = nn.Linear(WIDTH, WIDTH, bias=False)
        self.query_layernorm, self.key_layernorm = LlamaRMSNorm(head), LlamaRMSNorm(head)

    def forward(self, x, positions, cache):
        parts = self.query_key_value(x).split(self.sizes, -1)
        q, k, v = (part.unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2) for part in parts)
        half = WIDTH // HEADS // 2
        steps = torch.outer(positions, 10000.0 ** -(torch.arange(0, half, 2) / half)).repeat(1, 2)

        def turned(rows):
            turning, rest = rows[..., :half].float(), rows[..., half:]
            one, other = turning.chunk(2, -1)
            both = turning * steps.cos() + torch.cat([-other, one], -1) * steps.sin()
            return torch.cat([both.to(rows.dtype), rest], -1)

        cache.append((turned(self.key_layernorm(k)), v))
        k, v = (torch.cat(rows, 2).repeat_interleave(HEADS // KEYS, 1) for rows in zip(*cache, strict=True))
        q = turned(self.query_layernorm(q))
        found = functional.scaled_dot_product_attention(q, k, v, is_causal=q.shape[2] > 1)
        return self.dense(found.transpose(1, 2).flatten(2))


def attention():
    """The least correlation of a prompt and of two tokens after it."""
    plain = Attention().to(torch.bfloat16)
    own = placed(ttnn_attention.TTNNBailingMoEAttention.from_torch(plain))
    blocks = ttnn_attention.PagedAttentionConfig(block_size=32, max_num_blocks=8)
    kept = ttnn_attention.TTNNPagedAttentionKVCache(1, KEYS, WIDTH // HEADS, blocks).to_device(MESH)
    cache, found = [], []
    for first, rows in ((0, POSITIONS), (POSITIONS, 1), (POSITIONS + 1, 1)):
        x = torch.randn(1, rows, WIDTH, dtype=torch.bfloat16)
        expected = plain(x, torch.arange(first, first + rows), cache)
        found.append(correlation(expected, joined(own.forward(put(x), None, None, kept)[0])))
    return min(found)


def experts():
    """Four of sixteen experts for each token, two experts on a device, for a prompt, a ragged one and one token."""
    settings = Glm4MoeConfig(
        hidden_size=WIDTH, moe_intermediate_size=256, n_routed_experts=16, num_experts_per_tok=4
    )
    settings._experts_implementation = "eager"
    plain = Glm4MoeMoE(settings)
    for parameter in plain.parameters():
        parameter.normal_(0, 0.06)
    # Wide gaps between the scores: rounding does not choose another expert.
    plain.gate.weight.mul_(4)
    rounded = copy.deepcopy(plain).to(torch.bfloat16)
    rounded.gate.e_score_correction_bias = plain.gate.e_score_correction_bias
    for name, value in {
        "config": settings,
        "n_routed_experts": settings.n_routed_experts,
        "n_group": settings.n_group,
        "topk_group": settings.topk_group,
        "top_k": settings.num_experts_per_tok,
        "norm_topk_prob": settings.norm_topk_prob,
        "routed_scaling_factor": settings.routed_scaling_factor,
    }.items():
        setattr(rounded, name, value)
    rounded.experts.config = settings
    own = placed(ttnn_moe.TTNNMoE.from_torch(rounded))
    found = []
    for rows in (POSITIONS, 37, 1):
        x = torch.randn(1, rows, WIDTH).bfloat16().float()
        found.append(correlation(plain(x), joined(own.forward(put(x)))))
    return min(found)


def embedding_and_norm():
    words, norm = nn.Embedding(100, WIDTH).to(torch.bfloat16), LlamaRMSNorm(WIDTH).to(torch.bfloat16)
    norm.weight.normal_(1, 0.3)
    ids = torch.randint(0, 100, (2, 24), dtype=torch.int32)
    own = placed(ttnn_embedding.TTNNBailingPaddedEmbedding.from_torch(words))
    rows = own.forward(put(ids, None, dtype=ttnn.uint32, layout=ttnn.ROW_MAJOR_LAYOUT))
    found = placed(ttnn_normalization.TTNNDistributedRMSNorm.from_torch(norm)).forward(rows)
    return correlation(norm(words(ids)), joined(found))


torch.manual_seed(0)
ttnn.set_fabric_config(ttnn.FabricConfig.FABRIC_1D_RING)
MESH = ttnn.open_mesh_device(ttnn.MeshShape(1, 8))
with torch.no_grad(), contextlib.redirect_stdout(io.StringIO()):
    found = {made.__name__: made() for made in (attention, experts, embedding_and_norm)}
ttnn.close_mesh_device(MESH)
print(json.dumps(found))
