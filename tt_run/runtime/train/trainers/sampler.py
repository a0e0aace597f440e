"""`TTMLRolloutSampler`: completions of a Llama or a Qwen3, with the log-probability of each token.

A token's position is its place in prompt and completion, whatever the lengths of the other rows, so the log-probabilities are those that the
trainer's own pass over the same tokens has.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from tt_run.runtime.errors import type_name
from tt_run.runtime.native.arguments import parameter_words
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.common.generate import Sampling, next_token
from tt_run.runtime.train.common.trainer import Placing
from tt_run.runtime.train.common.utils import no_grad, run_mode
from tt_run.runtime.train.models.decoders.llama import DecoderLlama
from tt_run.runtime.train.models.decoders.qwen3 import Qwen3
from tt_run.runtime.train.models.llama import Llama
from tt_run.runtime.train.modules.base import RunMode
from tt_run.runtime.train.trainers import model_source
from tt_run.runtime.train.trainers.completion import ModelCompleter, Tokens
from tt_run.runtime.train.trainers.continuation import last_logits
from tt_run.runtime.train.trainers.received_weights import take_hf_weights
from tt_run.runtime.train.trainers.rollouts import RolloutBatch, RolloutSampler, check_new_weight_version

_CHAT_ENDS = ("<|eot_id|>", "<|end_of_text|>", "<|eom_id|>", "<|im_end|>", "<|endoftext|>")


class TTMLRolloutSampler(RolloutSampler):
    """Makes `completions_per_prompt` completions of each prompt, of up to `max_completion_length` tokens, with the model that is trained.

    Temperature 0 takes the most likely token; others are drawn from the context's generator, so a seed repeats them on any split over ranks.
    A completion ends before a token that ends texts of the tokenizer or of a chat. The older form makes model and tokenizer itself, of kind
    "llama" or "qwen3", on the devices that `setup_device` opens. Raises TypeError for any other model, ValueError for any other kind.
    """

    @overload
    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        max_completion_length: int,
        temperature: float,
        completions_per_prompt: int,
    ) -> None: ...
    @overload
    def __init__(
        self,
        model_kind: str,
        transformer_config: Any,
        device_config: Any,
        model_source: str,
        max_completion_length: int,
        temperature: float,
        completions_per_prompt: int = 1,
    ) -> None: ...
    def __init__(self, *given: Any, **named: Any) -> None:
        builds = "model_kind" in named or (given and isinstance(given[0], str))
        form = inspect.signature(_built if builds else _given)
        try:
            bound = form.bind(*given, **named)
        except TypeError as unbound:
            raise TypeError(
                f"TTMLRolloutSampler: {unbound}; help: TTMLRolloutSampler({parameter_words(form.parameters.values())})"
            ) from None
        bound.apply_defaults()
        asked = bound.arguments
        if builds:
            kind = asked["model_kind"]
            model_source.require_kind("TTMLRolloutSampler: model_kind", kind)
            self._kind = kind
            self._model, self._tokenizer = model_source.build(
                kind,
                asked["transformer_config"],
                asked["device_config"],
                asked["model_source"],
                self.setup_device,
            )
        else:
            self._model, self._tokenizer = asked["model"], asked["tokenizer"]
            if not isinstance(self._model, (Qwen3, DecoderLlama, Llama)):
                raise TypeError(
                    f"TTMLRolloutSampler supports ttml Llama and Qwen3 models, got {type_name(self._model)}"
                )
            self._kind = "qwen3" if isinstance(self._model, Qwen3) else "llama"
        self._limit = asked["max_completion_length"]
        self.temperature, self.completions_per_prompt = (
            asked["temperature"],
            asked["completions_per_prompt"],
        )
        self._placing, self._batches = Placing.current(), 0
        self._stops = stop_ids(self._tokenizer)

    def setup_device(self, device_config: Any) -> Any:
        """Open the devices of the older form; a program may reuse its own instead."""
        return model_source.open_device(self._kind, device_config)

    @property
    def model(self) -> Any:
        """The model."""
        return self._model

    @property
    def tokenizer(self) -> Any:
        """What has encode and decode."""
        return self._tokenizer

    @property
    def temperature(self) -> float:
        """What logits are divided by; 0 takes the most likely token."""
        return self._temperature

    @temperature.setter
    def temperature(self, value: float) -> None:
        self._temperature = float(value)

    @property
    def completions_per_prompt(self) -> int:
        """Completions of each prompt."""
        return self._generations

    @completions_per_prompt.setter
    def completions_per_prompt(self, value: int) -> None:
        self._generations = int(value)

    def update_weights(self, weights: Any, version: int) -> None:
        """Take weights that came from another rank, by Hugging Face's names, of which every device has all; None where the model has them."""
        number = check_new_weight_version(self.weight_version, version)
        if weights is not None:
            take_hf_weights(self._model, weights[0])
        self._version = number

    def set_weight_version(self, version: int) -> None:
        """Note another number of the weights, newer or not."""
        self._version = int(version)

    def generate(self, prompts: list[Tokens]) -> RolloutBatch:
        """Completions, those of one prompt side by side; `logprobs` is [batch, max_completion_length], zeros behind a completion.

        Every rank of the mesh must call it with the same prompts. Nothing is made where a prompt leaves no room. The model's mode comes back.
        Raises ValueError for a prompt without tokens, and for rows that do not divide over the data-parallel devices.
        """
        rows = [list(prompt) for prompt in prompts for _ in range(self._generations)]
        for number, prompt in enumerate(prompts):
            if not prompt:
                raise ValueError(
                    f"TTMLRolloutSampler: prompt {number} has no tokens; help: a prompt of at least one token"
                )
        if len(rows) % self._placing.size:
            raise ValueError(f"batch {len(rows)} must be divisible by num_devices {self._placing.size}")
        logprobs = np.zeros((len(rows), self._limit), np.float32)
        room = _positions(self._model.config) - max((len(row) for row in rows), default=0)
        texts = [list(row) for row in rows]
        with run_mode(self._model, RunMode.EVAL), no_grad():
            self._extend(texts, logprobs, max(0, min(self._limit, room)))
        AutoContext.get_instance().reset_graph()
        self._batches += 1
        completions = [text[len(row) :] for text, row in zip(texts, rows, strict=True)]
        return RolloutBatch(self.weight_version, rows, completions, logprobs, self._batches - 1)

    def _extend(self, texts: list[Tokens], logprobs: np.ndarray, tokens: int) -> None:
        """Put up to so many tokens behind each text, and the log-probability of each at its place."""
        sampling = Sampling(self._temperature, top_k=0)
        generator = AutoContext.get_instance().generator
        known, ended = self._model.config.vocab_size, [False] * len(texts)
        for place in range(tokens):
            if all(ended):
                return
            logits = last_logits(self._model, self._placing, texts)
            for row, text in enumerate(texts):
                if ended[row]:
                    continue
                # Rows of the padded vocabulary have no text, but the loss normalises over them.
                token = next_token(logits[row, :known], sampling, text, generator)
                ended[row] = token in self._stops
                if not ended[row]:
                    text.append(token)
                    logprobs[row, place] = log_probability(logits[row], token)


class SampledCompleter(ModelCompleter):
    """What a trainer asks of a completer, by a sampler."""

    def __init__(self, sampler: TTMLRolloutSampler) -> None:
        super().__init__(sampler.model, sampler.tokenizer, num_generations=sampler.completions_per_prompt)
        self.sampler = sampler

    def generate(self, prompts: list[Tokens]) -> list[Tokens]:
        """The sampler's completions, those of one prompt side by side."""
        return self.sampler.generate(prompts).completions


def build_rollout_sampler(
    source: str,
    *,
    model: Any,
    tokenizer: Any,
    max_completion_length: int,
    temperature: float,
    completions_per_prompt: int,
) -> TTMLRolloutSampler:
    """The sampler that `rollout_source` names. Raises ValueError for any but "ttml": tt-transformers is not emulated."""
    if source != "ttml":
        raise ValueError(f"unknown rollout_source {source!r}; help: rollout_source: ttml")
    return TTMLRolloutSampler(model, tokenizer, max_completion_length, temperature, completions_per_prompt)


def stop_ids(tokenizer: Any) -> frozenset[int]:
    """The tokens that end a text: the tokenizer's end and padding, and the ends of chats that it knows."""
    found = {getattr(tokenizer, name, None) for name in ("eos_token_id", "pad_token_id")}
    number_of = getattr(tokenizer, "convert_tokens_to_ids", None)
    if number_of is not None:
        unknown = getattr(tokenizer, "unk_token_id", None)
        found |= {number for number in map(number_of, _CHAT_ENDS) if number != unknown}
    return frozenset(int(number) for number in found if number is not None and number >= 0)


def _positions(config: Any) -> int:
    """The tokens that a model has positions for."""
    longest = getattr(config, "max_position_embeddings", None) or config.max_sequence_length
    return int(longest)


def log_probability(logits: np.ndarray, token: int) -> float:
    """The log-probability of a token among all that the logits are of."""
    scores = np.asarray(logits, np.float64)
    scores = scores - scores.max()
    return float(scores[token] - np.log(np.exp(scores).sum()))


def _given(
    model: Any, tokenizer: Any, max_completion_length: int, temperature: float, completions_per_prompt: int
) -> None:
    """The newest form's arguments."""


def _built(
    model_kind: str,
    transformer_config: Any,
    device_config: Any,
    model_source: str,
    max_completion_length: int,
    temperature: float,
    completions_per_prompt: int = 1,
) -> None:
    """The older form's arguments."""


__all__: Sequence[str] = ["SampledCompleter", "TTMLRolloutSampler", "build_rollout_sampler", "stop_ids"]
