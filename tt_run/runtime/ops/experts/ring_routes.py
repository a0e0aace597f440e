"""Which token goes to which expert of a device, in the formats that `ttnn.experimental.moe_compute` hands on. Source: reference library 0.81.1.

Lines of words begin at multiples of 16 bytes. The rows of the two experts that a device computed last stand in its combine cores.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
END = 0xFFFFFFFF
"""What follows the last token of a list."""
_WORDS = 4  # words of 32 bits in 16 bytes
BUFFERS, CHUNK = 2, 32
"""Experts whose rows fit into the combine cores, and rows of a core for each."""


class Route(NamedTuple):
    """The tokens of one expert, in order, and for each which of its choices this is, and its score."""

    tokens: Array
    slots: Array
    scores: Array


NOBODY = Route(*(np.zeros(0, np.int64) for _ in range(3)))
"""No tokens."""


def words_of(number: int) -> int:
    """So many words, filled up to whole lines."""
    return -(-number // _WORDS) * _WORDS


def routes(choices: Array, scores: Array, owners: Array, device: int, experts: int) -> list[Route]:
    """The tokens of each of a device's experts: `choices` and `scores` [tokens, K], `owners` [tokens, all experts] the device of each.

    Experts without a number on this device have no tokens. Raises LookupError with their count where the device has more of them.
    """
    own = np.flatnonzero((owners == device).any(axis=0))
    if len(own) > experts:
        raise LookupError(len(own))
    found = []
    held = np.take_along_axis(owners, choices, axis=1) == device
    for expert in own:
        tokens, slots = np.nonzero((choices == expert) & held)
        found.append(Route(tokens, slots, scores[tokens, slots]))
    return found + [NOBODY] * (experts - len(own))


def counts_table(found: Sequence[Route], cores: int) -> Array:
    """How many tokens each expert has, once for each core."""
    line = np.zeros(words_of(len(found)), np.uint32)
    line[: len(found)] = [len(route.tokens) for route in found]
    return np.repeat(line[None], cores, axis=0)


def activation_table(found: Sequence[Route], tokens: int, choices: int) -> Array:
    """A line for each token of the device: its number, which of its choices each expert is (choices + 1 for none), the scores' bits.

    Lines follow each other without gaps; the one after the last begins with END where there is room.
    """
    experts = len(found)
    every = np.unique(np.concatenate([route.tokens for route in found]))
    table = np.zeros((tokens, words_of(2 * experts + 1)), np.uint32)
    table[: len(every), 0] = every
    table[: len(every), 1 : 1 + experts] = choices + 1
    if len(every) < tokens:
        table[len(every), 0] = END
    for number, route in enumerate(found):
        rows = np.searchsorted(every, route.tokens)
        table[rows, 1 + number] = route.slots
        bits = (
            np.ascontiguousarray(route.scores, np.float32).view(np.uint32) >> 16
        )  # bfloat16 is its upper half
        table[rows, 1 + experts + number] = bits
    return table.reshape(1, -1)


def token_lists(found: Sequence[Route], tokens: int) -> Array:
    """The tokens of each expert, one in each 16 bytes, and END."""
    lists = np.zeros((len(found), tokens + 1, _WORDS), np.uint32)
    for number, route in enumerate(found):
        lists[number, : len(route.tokens), 0] = route.tokens
        lists[number, len(route.tokens), 0] = END
    return lists.reshape(len(found), -1)


def read_routes(activations: Array, lists: Array, counts: Array, tokens: int) -> list[Route]:
    """Tokens and choices back from those three; scores are left out. Raises ValueError where they contradict each other."""
    experts = len(lists)
    table = activations.reshape(tokens, -1)
    numbers = [int(n) for n in counts.reshape(-1)[:experts]]
    own = [
        line.reshape(-1, _WORDS)[:many, 0].astype(np.int64) for line, many in zip(lists, numbers, strict=True)
    ]
    every = np.unique(np.concatenate(own))
    if len(every) > tokens or not np.array_equal(table[: len(every), 0], every):
        raise ValueError("token lists and activations are not of the same tokens")
    found = []
    for number, mine in enumerate(own):
        slots = table[np.searchsorted(every, mine), 1 + number].astype(np.int64)
        found.append(Route(mine, slots, np.zeros(0)))
    return found


def shares(number: int, parts: int) -> list[int]:
    """So many rows over the parts, the first ones taking the rest."""
    each, more = divmod(number, parts)
    return [each + (part < more) for part in range(parts)]


def staged(outputs: Sequence[Array], height: int, width: int) -> Array:
    """The last experts' rows as they lie in the combine cores: [height * width, 2, 32 * width, part of a row]; nothing is zero.

    Experts take turns in the two buffers; a core keeps a share of an expert's tokens and a part of their rows.
    """
    hidden = outputs[0].shape[1]
    room = np.zeros((height, width, BUFFERS, CHUNK * width, hidden // width), np.float32)
    for number in range(max(len(outputs) - BUFFERS, 0), len(outputs)):
        _put(room[:, :, number % BUFFERS], outputs[number])
    return room.reshape(height * width, BUFFERS, CHUNK * width, -1)


def staged_one_after_another(outputs: Sequence[Array], height: int, width: int, rows: int) -> Array:
    """The rows of all experts as `moe_gpt` leaves them in the combine cores, with so many `rows` of a core for each; nothing is zero."""
    hidden = outputs[0].shape[1]
    room = np.zeros((height * width, BUFFERS * CHUNK * hidden), np.float32)
    held = np.zeros((height, width, len(outputs), rows, hidden // width), np.float32)
    for number, output in enumerate(outputs):
        _put(held[:, :, number], output)
    room[:, : held[0, 0].size] = held.reshape(height * width, -1)
    return room


def _put(cores: Array, output: Array) -> None:
    """An expert's rows into [height, width, rows, part of a row]."""
    height, width, _, part = cores.shape
    begin = 0
    for row, many in enumerate(shares(len(output), height)):
        cores[row, :, :many] = output[begin : begin + many].reshape(many, width, part).swapaxes(0, 1)
        begin += many


def rows_staged(room: Array, numbers: Sequence[int], part: int, hidden: int) -> list[Array]:
    """Each expert's rows from [height, width, elements of a core]: a core keeps room for as many rows of `part` elements of every expert.

    Raises ValueError where an expert has more rows than there is room for.
    """
    height, width, elements = room.shape
    cores = room.reshape(height, width, len(numbers), elements // len(numbers) // part, part)
    if -(-max(numbers) // height) > cores.shape[3]:
        raise ValueError(f"{max(numbers)} rows of an expert do not fit {height} times {cores.shape[3]}")
    found = []
    for number, many in enumerate(numbers):
        rows = [
            cores[place, :, number, :share].swapaxes(0, 1).reshape(share, width * part)[:, :hidden]
            for place, share in enumerate(shares(many, height))
        ]
        found.append(np.concatenate(rows))
    return found
