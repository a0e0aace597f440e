"""Keys and values of tokens already seen, so that generation computes only the new ones."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from tt_run.runtime.enums import DataType
from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.ops.rope import RotaryEmbeddingParams, rope

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value


@dataclass()
class KvCacheConfig:
    """Sizes of a cache."""

    num_layers: int
    batch_size: int
    num_groups: int
    max_seq_len: int
    head_dim: int


class KvCache:
    """Keys and values of every layer; `position` tokens are held.

    Given autograd tensors, `update` joins what is new to what is held, and the model counts (`advance`). Given `ttnn.Tensor`s, as attention of
    a program's own does, it writes them into buffers of the full length and counts after the last layer, as the reference does.
    """

    def __init__(self, *sizes: KvCacheConfig | int, **named: int) -> None:
        """A configuration, or its sizes in order or by name. Raises TypeError without either, and for a size that is no whole number."""
        given = sizes[0] if len(sizes) == 1 and not named else None
        words = [field.name for field in dataclasses.fields(KvCacheConfig)]
        if isinstance(given, KvCacheConfig):
            self._config = given
        else:
            try:
                self._config = KvCacheConfig(*sizes, **named)  # type: ignore[arg-type]
            except TypeError:
                got = ", ".join([*map(repr, sizes), *(f"{name}={value!r}" for name, value in named.items())])
                raise TypeError(
                    f"KvCache takes a KvCacheConfig or its sizes, not ({got}); help: KvCache({', '.join(words)})"
                ) from None
        for name in words:
            size = getattr(self._config, name)
            if not isinstance(size, Integral) or size < 0:
                raise TypeError(f"KvCache: {name} is a whole number, not {size!r}; help: {name}=1")
        self.reset()

    @property
    def room(self) -> int:
        """The most tokens that it can hold."""
        return self._config.max_seq_len

    def reset(self) -> None:
        """Forget everything."""
        self.position, self._counted = 0, False
        self._held: list[tuple[Tensor, Tensor] | None] = [None] * self._config.num_layers

    def update(
        self, layer: int, key: Tensor | Value, value: Tensor | Value, new_tokens: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """Put the keys and values [B, G, S, E] of new tokens behind those held; returns all of them, of buffers the whole buffers.

        `new_tokens` are the rows that count, all without it; what follows is padding. Raises RuntimeError when the cache is full or the sizes
        are not those it was made for.
        """
        native = not isinstance(key, Tensor)
        key, value = (t if isinstance(t, Tensor) else Tensor(t, False) for t in (key, value))
        batch, groups, new, width = key.shape()
        config = self._config
        if (batch, width) != (config.batch_size, config.head_dim) or config.num_groups % groups:
            raise RuntimeError(
                f"KvCache: made for {config}, got keys of shape {key.shape()}; help: a KvCache of the model's configuration"
            )
        new = new if new_tokens is None or not native else min(new, new_tokens)
        if self.position + new > config.max_seq_len:
            raise RuntimeError(
                f"KvCache: {self.position} tokens held and {new} new ones exceed max_seq_len {config.max_seq_len}; help: a larger max_seq_len, or cache.reset()"
            )
        before = self._held[layer]
        if native:
            length = config.max_seq_len
            olds = before or (_empty(key, length), _empty(value, length))
            key, value = (
                _written(old, fresh, self.position, new)
                for old, fresh in zip(olds, (key, value), strict=True)
            )
        elif before is not None and self.position:
            key, value = (
                _behind(old, fresh, self.position) for old, fresh in zip(before, (key, value), strict=True)
            )
        self._held[layer] = (key, value)
        if native and layer == config.num_layers - 1:
            self.position, self._counted = self.position + new, True
        return key, value

    def advance(self, tokens: int) -> None:
        """Count new tokens as held, unless `update` has; what lies behind them is padding and is dropped at the next update."""
        if not self._counted:
            self.position += tokens
        self._counted = False

    def get_cache_position(self) -> int:
        """Tokens held."""
        return self.position

    def get_k_cache(self, layer: int) -> Value:
        """The keys of a layer as they are held. Raises RuntimeError before the first."""
        return self._of(layer)[0].get_value()

    def get_v_cache(self, layer: int) -> Value:
        """The values of a layer as they are held. Raises RuntimeError before the first."""
        return self._of(layer)[1].get_value()

    def _of(self, layer: int) -> tuple[Tensor, Tensor]:
        found = self._held[layer]
        if found is None:
            raise RuntimeError(
                f"KvCache: layer {layer} holds nothing yet; update({layer}, key, value) comes first"
            )
        return found


def update_for(
    cache: KvCache, layer: int, key: Tensor, value: Tensor, mask: Tensor | None, new_tokens: int | None
) -> tuple[Tensor, Tensor]:
    """All keys and values, those of new tokens put behind those held, as many as a mask has columns.

    Programs pad new tokens to whole tiles, and the mask to whole tiles of what it is about: of padded tokens only `new_tokens` are put there
    then, and where the cache has no room for more, and rows that nobody sees come behind them.
    """
    wanted = None if mask is None else mask.shape()[-1]
    rows = cache.position + key.shape()[2]
    if wanted is None or (wanted == rows and rows <= cache.room):
        return cache.update(layer, key, value)
    if new_tokens is not None and new_tokens < key.shape()[2]:
        key, value = (_as_many(t, new_tokens) for t in (key, value))
    key, value = cache.update(layer, key, value)
    return _as_many(key, wanted), _as_many(value, wanted)


def turned(
    heads: Tensor, parameters: RotaryEmbeddingParams, start: int = 0, new_tokens: int | None = None
) -> Tensor:
    """`rope` of heads [B, H, S, E] from the position `start`; where their padding goes beyond the last position, of `new_tokens`, with zeros behind."""
    count = heads.shape()[2]
    if new_tokens is None or new_tokens >= count or start + count <= parameters.sequence_length:
        return rope(heads, parameters, start)
    return _as_many(rope(_as_many(heads, new_tokens), parameters, start), count)


def _as_many(rows: Tensor, count: int) -> Tensor:
    """[B, G, S, E] as [B, G, count, E]: the first rows, or zeros behind them."""
    if rows.shape()[2] == count:
        return rows

    def fitted(stack: Any) -> Any:
        out = np.zeros((*stack.shape[:-2], count, stack.shape[-1]), stack.dtype)
        kept = stack[..., :count, :]
        out[..., : kept.shape[-2], :] = kept
        return out

    return Tensor(stacks.compute(fitted, rows.get_value()), requires_grad=False)


class GrowingCache(KvCache):
    """A cache that learns its sizes from the first keys: `ttml.models.qwen3.kv_cache.KVCache`, for attention of a program's own.

    `update` gives the new keys and values themselves while nothing is held, whole buffers later; `get_attn_mask` fits either.
    """

    def __init__(self, num_layers: int, max_seq_len: int, *, compressed: bool = False) -> None:
        if compressed:
            raise NotImplementedError(
                "KVCache: compressed is for latent attention, whose cache is not emulated"
            )
        self.num_layers, self.max_seq_len = num_layers, max_seq_len
        super().__init__(KvCacheConfig(num_layers, 0, 0, max_seq_len, 0))

    def update(
        self, layer: int, key: Tensor | Value, value: Tensor | Value, new_tokens: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """Put the keys and values [B, G, S, E] of new tokens behind those held; the tokens count after the last layer. Raises RuntimeError as `KvCache`."""
        keys, values = (t if isinstance(t, Tensor) else Tensor(t, False) for t in (key, value))
        batch, groups, _, width = keys.shape()
        if not self._config.batch_size:
            self._config = KvCacheConfig(self.num_layers, batch, groups, self.max_seq_len, width)
        prefill = self.position == 0
        held = super().update(layer, keys.get_value(), values.get_value(), new_tokens)
        return (keys, values) if prefill else held

    def get_seq_length(self) -> int:
        """Tokens held."""
        return self.position

    def clear(self) -> None:
        """Give the buffers back, and forget their sizes."""
        self.__init__(self.num_layers, self.max_seq_len)  # type: ignore[misc]

    def get_attn_mask(self, seq_len: int | None = None) -> Tensor:
        """[1, 1, seq_len, seq_len], causal, while nothing is held; for one more token [1, 1, 1, max_seq_len]."""
        if self.position == 0 and seq_len is not None:
            seen = np.tril(np.ones((1, 1, seq_len, seq_len), np.float32))
        else:
            seen = (np.arange(self.max_seq_len) <= self.position).astype(np.float32).reshape(1, 1, 1, -1)
        mask = Tensor.from_numpy(seen, new_type=DataType.BFLOAT16)
        mask.set_requires_grad(False)
        return mask


def _empty(like: Tensor, length: int) -> Tensor:
    def zeros(array: Any) -> Any:
        return np.zeros((*array.shape[:-2], length, array.shape[-1]), array.dtype)

    return Tensor(stacks.compute(zeros, like.get_value()), requires_grad=False)


def _written(buffer: Tensor, fresh: Tensor, held: int, new: int) -> Tensor:
    def write(old: Any, rows: Any) -> Any:
        result = old.copy()
        result[..., held : held + new, :] = rows[..., :new, :]
        return result

    return Tensor(stacks.compute(write, buffer.get_value(), fresh.get_value()), requires_grad=False)


def _behind(old: Tensor, fresh: Tensor, held: int) -> Tensor:
    joined = stacks.compute(
        lambda a, b: np.concatenate([a[..., :held, :], b], axis=-2), old.get_value(), fresh.get_value()
    )
    return Tensor(joined, requires_grad=False)
