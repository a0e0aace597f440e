"""Examples become a batch: padded, cut, and with the weights of their losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import type_name
from tt_run.runtime.train.autograd.operation import naming_faults
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.datasets.dataloader import Batch


@naming_faults
def causal_lm_collate_fn(examples: Sequence[Mapping[str, Any]], seq_len: int, mapper: Any = None) -> Batch:
    """A batch of windows of a text, `{"input_ids": [...], "labels": [...]}` of `seq_len` each, of which every position is trained.

    `mapper` lays it over the mesh. Raises ValueError for a window of another length, and as `sft_collate_fn` for what is no window.
    """
    _require_some(examples)
    for row, example in enumerate(examples):
        _check(row, example)
        for name in ("input_ids", "labels"):
            if len(example[name]) != seq_len:
                raise ValueError(
                    f"example {row} has {len(example[name])} {name}, the batch is of {seq_len}; help: cut texts into windows of as many tokens"
                )
    ids, labels = (
        np.array([example[name] for example in examples], np.uint32) for name in ("input_ids", "labels")
    )
    return Batch(
        Tensor.from_numpy(ids.reshape(-1, 1, 1, seq_len), Layout.ROW_MAJOR, DataType.UINT32, mapper),
        Tensor.from_numpy(labels, Layout.ROW_MAJOR, DataType.UINT32, mapper),
    )


IGNORED = -100
"""The label of a position that is not trained, as in PyTorch and Hugging Face's data sets."""


@naming_faults
def sft_collate_fn(
    examples: Sequence[Mapping[str, Any]],
    max_seq_len: int,
    pad_token_id: int,
    mapper: Any = None,
    pad_to: int | None = None,
) -> Batch:
    """A batch of examples `{"input_ids": [...], "labels": [...]}`, both of one length; labels of -100 are not trained.

    Sequences are padded to the longest of the batch, or to `pad_to`, and cut at `max_seq_len`. `mapper` lays the batch over the mesh. Raises
    ValueError for an example without ids or labels, of which they are no whole numbers, or not equally many, and for a batch of which no
    position is trained.
    """
    _require_some(examples)
    for row, example in enumerate(examples):
        _check(row, example)
    if max_seq_len < 1 or pad_token_id < 0:
        raise ValueError(
            f"max_seq_len is at least 1 and pad_token_id at least 0, not {max_seq_len} and {pad_token_id}; help: max_seq_len=1024, pad_token_id=0"
        )
    longest = max(len(example["input_ids"]) for example in examples)
    length = min(pad_to or longest, max_seq_len)
    form = (len(examples), length)
    ids, labels = np.full(form, pad_token_id, np.uint32), np.full(form, pad_token_id, np.uint32)
    weights = np.zeros(form, np.float32)
    for row, example in enumerate(examples):
        own, wanted = list(example["input_ids"]), list(example["labels"])[:length]
        ids[row, : len(own[:length])] = own[:length]
        trained = [column for column, label in enumerate(wanted) if label != IGNORED]
        labels[row, trained] = [wanted[column] for column in trained]
        weights[row, trained] = 1.0
    total = float(weights.sum())
    if not total:
        raise ValueError(
            f"no position of the batch is trained: every label is {IGNORED} or behind {length} tokens; help: leave {IGNORED} out of some labels, or a longer max_sequence_length"
        )
    weights *= np.float32(weights.size / total)
    # Tests of programs put a stand-in of three arguments in the place of from_numpy, which makes something else than tensors.
    laid = () if mapper is None else (mapper,)
    mask = Tensor.from_numpy(weights.reshape(-1, 1, length, 1), Layout.TILE, DataType.BFLOAT16, *laid)
    if isinstance(mask, Tensor):
        mask.set_requires_grad(False)
    return Batch(
        Tensor.from_numpy(ids.reshape(-1, 1, 1, length), Layout.ROW_MAJOR, DataType.UINT32, *laid),
        Tensor.from_numpy(labels, Layout.ROW_MAJOR, DataType.UINT32, *laid),
        mask,
    )


def _require_some(examples: Sequence[Any]) -> None:
    """Raise TypeError for what is no batch, ValueError for one of nothing."""
    if isinstance(examples, str) or not isinstance(examples, Sequence):
        raise TypeError(
            f"a batch is a list of examples, not {type_name(examples)}; help: [{{'input_ids': […], 'labels': […]}}]"
        )
    if not len(examples):
        raise ValueError("a batch needs an example at least; help: a set that is not empty, drop_last=True")


def _check(row: int, example: Any) -> None:
    """Raise ValueError for an example that has no ids and labels, equally many whole numbers."""
    for name in ("input_ids", "labels"):
        if not isinstance(example, Mapping) or name not in example:
            has = ", ".join(map(str, example)) if isinstance(example, Mapping) else type(example).__name__
            raise ValueError(
                f"example {row} has no {name!r}, it has {has}; help: {{'input_ids': […], 'labels': […]}}"
            )
        values = example[name]
        if isinstance(values, str) or (len(values) and np.asarray(values).dtype.kind not in "iu"):
            raise ValueError(
                f"example {row}: {name} are whole numbers, one after another, not {str(values)[:40]!r}; help: [1, 2, 3]"
            )
    for name, least in (("input_ids", 0), ("labels", IGNORED)):
        below = [value for value in example[name] if value < 0 and value != least]
        if below:
            marked = f", or {IGNORED} where none counts" if least else ""
            raise ValueError(
                f"example {row}: {name} are numbers of tokens{marked}, not {below[0]}; help: the ids of a tokenizer"
            )
    ids, labels = (len(example[name]) for name in ("input_ids", "labels"))
    if ids != labels:
        raise ValueError(
            f"example {row} has {ids} input_ids and {labels} labels; help: one label for each id; {IGNORED} where none counts"
        )
