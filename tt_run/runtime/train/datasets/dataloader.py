"""`Batch`, the loader that programs derive from, and one for sets that are in memory or that Hugging Face's `datasets` opens."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tt_run.runtime.errors import type_name
from tt_run.runtime.train.autograd.tensor import Tensor

Collate = Callable[[list[Any]], Any]


@dataclass
class Batch:
    """input_ids [B, 1, 1, T] and labels [B, T], both UINT32; loss_mask [B, 1, T, 1] weighs the loss of each position.

    Weights sum to B * T, so that `mean(loss * loss_mask)` is the mean over the positions that count; None where all do.
    """

    input_ids: Tensor
    labels: Tensor
    loss_mask: Tensor | None = None


class TTMLDataloader(ABC):
    """Goes through a data set in batches: derive and define `__iter__` and `__len__`."""

    def __init__(self, dataset: Any, collate_fn: Collate, batch_size: int) -> None:
        if not isinstance(batch_size, int):
            raise TypeError(
                f"batch_size must be int, got {type_name(batch_size)}; help: batch_size=1 or more"
            )
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, not {batch_size}; help: batch_size=1 or more")
        if not hasattr(dataset, "__len__") or not callable(collate_fn):
            raise TypeError(
                "a loader takes a data set with a length and a function of a list of examples, "
                f"not {type(dataset).__name__} and {type(collate_fn).__name__}; help: DataLoader(examples, collate_fn, batch_size=…)"
            )
        self.dataset, self.collate_fn, self.batch_size = dataset, collate_fn, batch_size

    @abstractmethod
    def __iter__(self) -> Iterator[Any]:
        """Batches until the set has been gone through once."""

    @abstractmethod
    def __len__(self) -> int:
        """Batches of one pass."""


class InMemoryDataloader(TTMLDataloader):
    """Goes through anything with a length and items by number, shuffled anew in each pass if asked: by NumPy's global generator, or as `seed` says.

    With a seed the order follows from it and the number of passes before, `passes`. Raises ValueError, when a pass starts, for a set with fewer examples than one batch.
    """

    def __init__(
        self,
        dataset: Any,
        collate_fn: Collate,
        batch_size: int,
        shuffle: bool = False,
        drop_last: bool = True,
        seed: int | None = None,
    ) -> None:
        super().__init__(dataset, collate_fn, batch_size)
        if seed is not None and (not isinstance(seed, (int, np.integer)) or seed < 0):
            raise ValueError(f"seed is a whole number, 0 or above, or None, not {seed!r}; help: seed=0")
        self.shuffle, self.drop_last, self.seed, self.passes = shuffle, drop_last, seed, 0

    def __iter__(self) -> Iterator[Any]:
        count = len(self.dataset)
        if count < self.batch_size and self.drop_last:
            raise ValueError(
                f"the data set has {count} examples, a batch {self.batch_size}; help: drop_last=False"
            )
        order = self._order(count)
        for number in range(len(self)):
            chosen = order[number * self.batch_size : (number + 1) * self.batch_size]
            yield self.collate_fn([self.dataset[int(i)] for i in chosen])

    def _order(self, count: int) -> np.ndarray:
        passed, self.passes = self.passes, self.passes + 1
        if not self.shuffle:
            return np.arange(count)
        if self.seed is None:
            return np.random.permutation(count)
        return np.random.default_rng([self.seed, passed]).permutation(count)

    def __len__(self) -> int:
        whole, rest = divmod(len(self.dataset), self.batch_size)
        return whole if self.drop_last or not rest else whole + 1
