"""Completions by another rank: what it is asked goes there as bytes, and what it made comes back with the number of the weights it had."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tt_run.runtime.mesh.distributed import distributed_context_recv_bytes, distributed_context_send_bytes
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.trainers.batch_source import (
    Columns,
    InProcessRolloutBatchSource,
    PromptBatches,
    RolloutBatchSource,
    pad_logprobs,
)
from tt_run.runtime.train.trainers.completion import Tokens
from tt_run.runtime.train.trainers.model_source import weights_ref_hf_dict
from tt_run.runtime.train.trainers.rollouts import Reward, RolloutBatch, RolloutSampler
from tt_run.runtime.train.trainers.weight_bridge import (
    TTML_RANK,
    TTT_RANK,
    HostWeightBridge,
    WeightBridge,
    own_rank,
    receive_sized,
    send_sized,
)

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value

OP_GENERATE, OP_SHUTDOWN, OP_REQUEST_TRANSFER = 1, 2, 3
_REQUEST, _PROMPTS, _COMPLETIONS = 111, 112, 113
_HEADER = struct.Struct("<II")  # what is asked for, and the number of the weights that come


class MPIRolloutServer:
    """Serves a sampler to the rank that trains; making it waits for that rank's `MPIRolloutClient`. Raises RuntimeError on any rank but `TTT_RANK`.

    What the sampler raises ends this rank, and with it the job.
    """

    def __init__(self, *, peer_rank: int, bridge: WeightBridge, sampler: RolloutSampler) -> None:
        _require_place("MPIRolloutServer", "TTT_RANK", TTT_RANK, "TTML_RANK", TTML_RANK, peer_rank)
        self.peer_rank, self._bridge, self._sampler = int(peer_rank), bridge, sampler
        bridge.connect()

    def serve_forever(self) -> None:
        """Answer until the other rank says that it is done; then close the sampler."""
        try:
            while (asked := self._next())[0] != OP_SHUTDOWN:
                self._answer(*asked)
        finally:
            self._sampler.close()

    def _next(self) -> tuple[int, int]:
        """What is asked for next, and the number of the weights that come with it."""
        what, version = _HEADER.unpack(distributed_context_recv_bytes(_HEADER.size, self.peer_rank, _REQUEST))
        return what, version

    def _answer(self, what: int, version: int) -> None:
        if what == OP_REQUEST_TRANSFER:
            self._sampler.update_weights(self._bridge.receive_weights(), version=version)
            self._bridge.barrier()
        elif what == OP_GENERATE:
            batch = self._sampler.generate(json.loads(receive_sized(self.peer_rank, _PROMPTS)))
            made = {
                "completions": [[int(token) for token in own] for own in batch.completions],
                "logprobs": [
                    [float(x) for x in batch.logprobs[row, : len(own)]]
                    for row, own in enumerate(batch.completions)
                ],
                "weight_version": int(batch.weight_version),
            }
            send_sized(json.dumps(made).encode(), self.peer_rank, _COMPLETIONS)
        else:
            raise RuntimeError(f"MPIRolloutServer: unknown op {what}")


class MPIRolloutClient:
    """Asks the rank that makes completions; making it waits for that rank's `MPIRolloutServer`. Raises RuntimeError on any rank but `TTML_RANK`."""

    def __init__(self, *, peer_rank: int, bridge: WeightBridge) -> None:
        _require_place("MPIRolloutClient", "TTML_RANK", TTML_RANK, "TTT_RANK", TTT_RANK, peer_rank)
        self.peer_rank, self._bridge = int(peer_rank), bridge
        bridge.connect()

    def remote_generate(self, prompts: Sequence[Tokens]) -> tuple[list[Tokens], list[list[float]], int]:
        """Completions, the log-probability of each token, and the number of the weights that made them."""
        self._ask(OP_GENERATE)
        body = json.dumps([[int(token) for token in prompt] for prompt in prompts]).encode()
        send_sized(body, self.peer_rank, _PROMPTS)
        made = json.loads(receive_sized(self.peer_rank, _COMPLETIONS))
        return made["completions"], made["logprobs"], made["weight_version"]

    def send_weights(self, hf_dict: dict[str, Value], *, version: int) -> None:
        """Send weights by Hugging Face's names. Raises ValueError for a number that is none of new weights."""
        if not 0 < int(version) < 2**32:
            raise ValueError(f"weight version {version} must be in (0, 2**32)")
        self._ask(OP_REQUEST_TRANSFER, int(version))
        self._bridge.send_weights(hf_dict)
        self._bridge.barrier()

    def shutdown(self) -> None:
        """Let the other rank go on."""
        self._ask(OP_SHUTDOWN)

    def _ask(self, what: int, version: int = 0) -> None:
        distributed_context_send_bytes(_HEADER.pack(what, version), self.peer_rank, _REQUEST)


class SyncRemoteRolloutBatchSource(PromptBatches):
    """Has the other rank make the completions of `batch_prompts` prompts at a time, and scores them here.

    The other rank begins with the same weights, number 0, and gets those of every `weight_sync_every`-th step.
    """

    def __init__(
        self,
        *,
        mesh_device: Any,
        prompts: list[Tokens],
        extra_columns: Columns,
        batch_prompts: int,
        tokenizer: Any,
        reward_funcs: Sequence[Reward],
        num_generations: int,
        max_completion_length: int,
        weight_sync_every: int,
    ) -> None:
        super().__init__(
            prompts=prompts,
            extra_columns=extra_columns,
            batch_prompts=batch_prompts,
            tokenizer=tokenizer,
            reward_funcs=reward_funcs,
            num_generations=num_generations,
            max_completion_length=max_completion_length,
        )
        self._every, self._sent, self._closed = int(weight_sync_every), 0, False
        bridge = HostWeightBridge.init_sender(mesh=mesh_device, peer_rank=TTT_RANK)
        self._client = MPIRolloutClient(peer_rank=TTT_RANK, bridge=bridge)

    def completed(self, prompts: list[Tokens]) -> RolloutBatch:
        """The other rank's batch. Raises RuntimeError for completions of other weights than those that were sent last."""
        completions, logprobs, version = self._client.remote_generate(prompts)
        if version != self._sent:
            raise RuntimeError(f"rollout rank generated with weight_version {version}, expected {self._sent}")
        return RolloutBatch(
            version,
            [prompt for prompt in prompts for _ in range(self._generations)],
            completions,
            pad_logprobs(completions, logprobs, self._limit),
        )

    def update_weights(self, model: Any, step: int) -> None:
        """Send the weights, if it is their turn."""
        if step % self._every == 0:
            self._client.send_weights(weights_ref_hf_dict(model), version=step)
            self._sent = step

    def close(self) -> None:
        """Let the other rank go on."""
        if not self._closed:
            self._closed = True
            self._client.shutdown()


def build_rollout_batch_source(
    config: Any,
    *,
    sampler: RolloutSampler | None,
    prompts: list[Tokens],
    extra_columns: Columns,
    batch_prompts: int,
    tokenizer: Any,
    reward_funcs: Sequence[Reward],
) -> RolloutBatchSource:
    """What `config.rollout_mode` asks for: "in_process" a sampler's completions, "remote_sync" those of the other rank. Raises ValueError for any other mode."""
    common: dict[str, Any] = {
        "prompts": prompts,
        "extra_columns": extra_columns,
        "batch_prompts": batch_prompts,
        "tokenizer": tokenizer,
        "reward_funcs": reward_funcs,
        "num_generations": config.num_generations,
        "max_completion_length": config.max_completion_length,
    }
    if config.rollout_mode == "in_process" and sampler is not None:
        return InProcessRolloutBatchSource(sampler=sampler, **common)
    if config.rollout_mode == "remote_sync":
        device = AutoContext.get_instance().get_device()
        return SyncRemoteRolloutBatchSource(
            mesh_device=device, weight_sync_every=config.weight_sync_every, **common
        )
    raise ValueError(f"unsupported rollout_mode {config.rollout_mode!r}; help: rollout_mode: in_process")


def _require_place(owner: str, here: str, rank: int, there: str, peer: int, given: int) -> None:
    """Raise RuntimeError for an end on another rank than its own, and for another peer."""
    if (own := own_rank(owner)) != rank:
        raise RuntimeError(f"{owner} must run on {here}={rank} (got local rank {own})")
    if int(given) != peer:
        raise RuntimeError(f"{owner}: peer_rank must be {there}={peer} (got {given})")
