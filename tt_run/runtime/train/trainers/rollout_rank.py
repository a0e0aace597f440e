"""The rank that makes completions for a `GRPOTrainer` of another rank: it has a mesh of its own, a sampler, and the server that is asked."""

from __future__ import annotations

from typing import Any

from tt_run.runtime.mesh import open_mesh_device
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.train.parallel.distributed import enable_fabric
from tt_run.runtime.train.trainers import model_source as source
from tt_run.runtime.train.trainers.grpo_config import GRPOConfig
from tt_run.runtime.train.trainers.remote_rollout import MPIRolloutServer
from tt_run.runtime.train.trainers.sampler import stop_ids
from tt_run.runtime.train.trainers.ttt_sampler import TTTRolloutSampler, bf16_attn_bfp8_mlp_optimizations
from tt_run.runtime.train.trainers.weight_bridge import TTML_RANK, HostWeightBridge


class RolloutRank:
    """What the settings of `remote_rollout` say, with the weights of `model_source` at first; making it meets the rank that trains."""

    def __init__(self, config: GRPOConfig, model_source: str) -> None:
        remote = config.remote_rollout
        assert remote is not None
        rows, columns = (int(side) for side in remote.mesh_shape)
        enable_fabric(rows * columns)
        self.mesh = open_mesh_device(MeshShape(rows, columns))
        self.tokenizer: Any = source.load_tokenizer(model_source)
        end, pad = self.tokenizer.eos_token_id, self.tokenizer.pad_token_id
        self.sampler = TTTRolloutSampler(
            mesh_device=self.mesh,
            model_source=model_source,
            max_batch_size=remote.max_batch_size,
            max_seq_len=remote.max_seq_len,
            instruct=True,
            optimizations=bf16_attn_bfp8_mlp_optimizations,
            stop_token_ids=sorted(stop_ids(self.tokenizer)),
            pad_token_id=int((end if pad is None else pad) or 0),
            completions_per_prompt=config.num_generations,
            max_completion_length=config.max_completion_length,
            temperature=config.temperature,
            top_k=remote.top_k,
            top_p=remote.top_p,
            seed=remote.seed,
        )
        bridge = HostWeightBridge.init_receiver(
            mesh=self.mesh, peer_rank=TTML_RANK, submeshes=self.sampler.submeshes
        )
        self._server = MPIRolloutServer(peer_rank=TTML_RANK, bridge=bridge, sampler=self.sampler)

    def serve(self) -> None:
        """Answer until the rank that trains is done; then close the mesh."""
        try:
            self._server.serve_forever()
        finally:
            self.mesh.close()
