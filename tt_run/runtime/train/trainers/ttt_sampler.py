"""`TTTRolloutSampler`: completions on a mesh of the program's own, a model on each of its devices, as tt-transformers serves them.

The models are those of `ttml`, with the weights of a Hugging Face directory until others come from the rank that trains.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tt_run.runtime.enums import DataType
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.common.generate import Sampling, next_token
from tt_run.runtime.train.common.trainer import Placing
from tt_run.runtime.train.common.utils import no_grad
from tt_run.runtime.train.parallel.sharded_parameters import restore_parameter
from tt_run.runtime.train.trainers import model_source as source
from tt_run.runtime.train.trainers.batch_source import pad_logprobs
from tt_run.runtime.train.trainers.completion import Tokens
from tt_run.runtime.train.trainers.continuation import Continuation
from tt_run.runtime.train.trainers.received_weights import take_hf_weights
from tt_run.runtime.train.trainers.rollouts import RolloutBatch, RolloutSampler, check_new_weight_version
from tt_run.runtime.train.trainers.sampler import log_probability
from tt_run.runtime.values.dtypes import quantize

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value

LLAMA_STOP_TOKEN_STRS = ("<|eot_id|>", "<|end_of_text|>", "<|eom_id|>")


@dataclass(frozen=True)
class Precision:
    """The element type in which the matrices of multi-layer perceptrons are kept."""

    mlp: DataType


def bf16_attn_bfp8_mlp_optimizations(num_decoders: int, model_name: str) -> Precision:
    """The matrices of multi-layer perceptrons in BFLOAT8_B, all others as they are; for a model of any depth and name."""
    return Precision(DataType.BFLOAT8_B)


def llama_stop_and_pad(model_id: str) -> tuple[list[int], int]:
    """The tokens that end a Llama's text, in order, and the one that fills up. Raises RuntimeError for a tokenizer that has neither end nor filling."""
    tokenizer = source.load_tokenizer(model_id)
    end, pad = tokenizer.eos_token_id, tokenizer.pad_token_id
    if end is None and pad is None:
        raise RuntimeError(
            f"llama_stop_and_pad({model_id!r}): the tokenizer has neither pad_token_id nor eos_token_id; help: tokenizer.pad_token = …"
        )
    numbers = (tokenizer.convert_tokens_to_ids(text) for text in LLAMA_STOP_TOKEN_STRS)
    known = {number for number in numbers if number is not None and number != tokenizer.unk_token_id}
    return sorted(int(stop) for stop in known | ({end} - {None})), int(end if pad is None else pad)


class TTTRolloutSampler(RolloutSampler):
    """Makes `completions_per_prompt` completions of each prompt, up to `max_batch_size` at a time on each device of an open mesh.

    Temperature 0 takes the most likely token; others are drawn among the `top_k` most likely (0: all) and the nucleus `top_p`, from a generator of
    `seed`, or else the context's. Log-probabilities are those of the model, whatever the drawing leaves out. `optimizations(layers, name)` may
    give a `Precision`; `dummy_weights` leaves the model random. Whether the model is one for chats, and how its cache is cut into pages, changes no number here.
    """

    def __init__(
        self,
        *,
        mesh_device: Any,
        model_source: str,
        max_batch_size: int,
        max_seq_len: int,
        instruct: bool,
        optimizations: Callable[[int, str], Any],
        stop_token_ids: Sequence[int],
        pad_token_id: int,
        completions_per_prompt: int,
        max_completion_length: int,
        temperature: float = 1.0,
        top_k: int = 32,
        top_p: float = 1.0,
        seed: int | None = None,
        paged_block_size: int = 32,
        min_num_blocks: int = 1024,
        dummy_weights: bool = False,
    ) -> None:
        self.parent_mesh = mesh_device
        self.submeshes: list[Any] = mesh_device.create_submeshes(MeshShape(1, 1))
        self._rows, self._longest = int(max_batch_size), int(max_seq_len)
        self._stops = frozenset(int(token) for token in stop_token_ids)
        self._generations, self._limit = int(completions_per_prompt), int(max_completion_length)
        self._sampling = Sampling(float(temperature), int(top_k), float(top_p))
        self._generator = (
            AutoContext.get_instance().generator if seed is None else np.random.default_rng(seed)
        )
        self.models: list[Any] = []
        for submesh in self.submeshes:
            with AutoContext.get_instance().standing_on(submesh):
                model = source.build_for_completions(model_source, self._longest, load=not dummy_weights)
                asked = optimizations(int(model.config.num_hidden_layers), str(model_source))
                self._precision = asked if isinstance(asked, Precision) else None
                self._settle(model)
                model.eval()
                self.models.append(model)

    def generate(self, prompts: list[Tokens]) -> RolloutBatch:
        """Completions, those of one prompt side by side; `logprobs` is [batch, max_completion_length], zeros behind a completion."""
        rows = [list(prompt) for prompt in prompts for _ in range(self._generations)]
        completions, logprobs = list[Tokens](), list[list[float]]()
        for start in range(0, len(rows), self._slots):
            made, theirs = self.generate_and_get_log_probs(
                rows[start : start + self._slots], max_new_tokens=self._limit
            )
            completions += made
            logprobs += theirs
        return RolloutBatch(
            self.weight_version, rows, completions, pad_logprobs(completions, logprobs, self._limit)
        )

    def generate_tokens(
        self,
        prompts: list[Tokens],
        *,
        max_new_tokens: int = 128,
        enable_trace: bool = True,
        stop_at_eos: bool = True,
    ) -> list[Tokens]:
        """A completion of each prompt, of at most so many tokens; it ends before a token that ends texts, unless `stop_at_eos` is False."""
        return self.generate_and_get_log_probs(
            prompts, max_new_tokens=max_new_tokens, enable_trace=enable_trace, stop_at_eos=stop_at_eos
        )[0]

    def generate_and_get_log_probs(
        self,
        prompts: list[Tokens],
        *,
        max_new_tokens: int = 128,
        enable_trace: bool = True,
        stop_at_eos: bool = True,
    ) -> tuple[list[Tokens], list[list[float]]]:
        """As `generate_tokens`, and the log-probability of each token. Captures save no time here: `enable_trace` is taken and changes nothing.

        Raises ValueError for more prompts than there is room for, for empty ones, and for those that leave no room for so many tokens.
        """
        self._check(prompts, max_new_tokens)
        stops = self._stops if stop_at_eos else frozenset[int]()
        completions, logprobs = list[Tokens](), list[list[float]]()
        for number, model in enumerate(self.models):
            rows = [list(p) for p in prompts[number * self._rows : (number + 1) * self._rows]]
            if rows:
                with AutoContext.get_instance().standing_on(self.submeshes[number]), no_grad():
                    made, theirs = self._extended(model, rows, max_new_tokens, stops)
                completions += made
                logprobs += theirs
        return completions, logprobs

    def update_weights(self, weights: list[Mapping[str, Value]], version: int) -> None:
        """Take weights by Hugging Face's names, those of each device from one map, in order. Raises RuntimeError for another number of maps."""
        number = check_new_weight_version(self.weight_version, version)
        if len(weights) != len(self.models):
            raise RuntimeError(
                f"update_weights got {len(weights)} dicts but sampler has {len(self.models)} submeshes"
            )
        for model, submesh, own in zip(self.models, self.submeshes, weights, strict=True):
            with AutoContext.get_instance().standing_on(submesh):
                take_hf_weights(model, own)
                self._settle(model)
        self._version = number

    def close(self) -> None:
        """Give the models back; the mesh stays open."""
        self.models = []

    @property
    def _slots(self) -> int:
        return self._rows * len(self.submeshes)

    def _extended(
        self, model: Any, rows: list[Tokens], tokens: int, stops: frozenset[int]
    ) -> tuple[list[Tokens], list[list[float]]]:
        """What comes behind each row on one device, and the log-probability of each token."""
        texts, ended = [list(row) for row in rows], [False] * len(rows)
        logprobs: list[list[float]] = [[] for _ in rows]
        behind = Continuation(model, Placing(), texts, tokens)
        for _ in range(tokens):
            if all(ended):
                break
            logits = behind.logits(texts)
            for row, text in enumerate(texts):
                if ended[row]:
                    continue
                known = logits[row, : model.config.vocab_size]
                token = next_token(known, self._sampling, text, self._generator)
                ended[row] = token in stops
                if not ended[row]:
                    text.append(token)
                    logprobs[row].append(log_probability(logits[row], token))
        return [text[len(row) :] for text, row in zip(texts, rows, strict=True)], logprobs

    def _settle(self, model: Any) -> None:
        """Bring matrices of multi-layer perceptrons to the type that was asked for; their blocks are along the outputs, as products read them."""
        if self._precision is None:
            return
        for path, tensor in model.parameters().items():
            if "/mlp/" in path and path.endswith("weight"):
                turned = np.swapaxes(tensor.to_numpy(DataType.FLOAT32), -1, -2)
                rounded = quantize(np.ascontiguousarray(turned), self._precision.mlp)
                tensor.set_value(restore_parameter(tensor, np.swapaxes(rounded, -1, -2), path))

    def _check(self, prompts: list[Tokens], tokens: int) -> None:
        if tokens < 0:
            raise ValueError(f"max_new_tokens must be non-negative, got {tokens}")
        if not 0 < len(prompts) <= self._slots:
            raise ValueError(
                f"got {len(prompts)} prompts; one call serves 1..{self._slots} "
                f"({len(self.submeshes)} devices x max_batch_size={self._rows}); help: a larger max_batch_size"
            )
        if not all(prompts):
            raise ValueError(f"prompt {[bool(prompt) for prompt in prompts].index(False)} has no tokens")
        room = self._longest - tokens
        if room <= 0:
            raise ValueError(f"max_new_tokens ({tokens}) must be smaller than max_seq_len ({self._longest})")
        long = [number for number, prompt in enumerate(prompts) if len(prompt) > room]
        if long:
            raise ValueError(
                f"{len(long)} prompt(s) longer than {room} tokens (max_seq_len - max_new_tokens), "
                f"first at index {long[0]} with {len(prompts[long[0]])} tokens; help: a larger max_seq_len"
            )
