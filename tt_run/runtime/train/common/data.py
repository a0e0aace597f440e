"""`ttml.common.data`: characters as tokens, text as batches; nothing is downloaded.

The text that ships with the examples is used where no file is named.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from tt_run import contract
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import type_name
from tt_run.runtime.tile import whole_tiles
from tt_run.runtime.train.autograd.operation import naming_faults
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.common.config import TrainingConfig
from tt_run.runtime.train.common.files import get_tt_metal_home, get_tt_metal_runtime_root
from tt_run.runtime.train.named_files import read_text

Ids = npt.NDArray[np.uint32]


PAD_TOKEN, BEGIN_TOKEN, END_TOKEN = "<PAD>", "<BEG>", "<END>"


class CharTokenizer:
    """One id per character: 0 is padding, then the characters in order, then the two marks of beginning and end."""

    def __init__(self, text: str, add_padding_token: bool = True, add_begin_end_tokens: bool = True) -> None:
        if not isinstance(text, str):
            raise TypeError(
                f"CharTokenizer: a vocabulary is made of a text, not {type_name(text)}; help: CharTokenizer(load_shakespeare_text())"
            )
        symbols = [PAD_TOKEN] if add_padding_token else []
        symbols += sorted(set(text))
        symbols += [BEGIN_TOKEN, END_TOKEN] if add_begin_end_tokens else []
        self.stoi = {symbol: number for number, symbol in enumerate(symbols)}
        self.itos = symbols

    @property
    def vocab_size(self) -> int:
        """Number of ids."""
        return len(self.stoi)

    @naming_faults
    def encode(self, text: str) -> list[int]:
        """Ids of a text. Raises ValueError for a character that the vocabulary lacks."""
        unknown = sorted({character for character in text if character not in self.stoi})
        if unknown:
            raise ValueError(
                f"the vocabulary has no {', '.join(map(repr, unknown[:8]))}; it was made from another text; help: take the text that it was made from, or leave the checkpoint out"
            )
        return [self.stoi[character] for character in text]

    @naming_faults
    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids; padding and marks are left out. Raises ValueError for an id that does not exist."""
        numbers = [int(number) for number in ids]
        unknown = [number for number in numbers if not 0 <= number < self.vocab_size]
        if unknown:
            raise ValueError(
                f"no token has the id {unknown[0]}; there are {self.vocab_size}; help: take the tokenizer that the model was trained with"
            )
        return "".join(symbol for number in numbers if len(symbol := self.itos[number]) == 1)


class BytePairTokenizer:
    """The tokenizer of a tokenizer.json file. Raises ImportError without the tokenizers package, OSError and ValueError naming a file that is none."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        try:
            from tokenizers import Tokenizer  # type: ignore[import-not-found,import-untyped,unused-ignore]
        except ImportError:
            raise ImportError(
                "tokenizer_type: bpe needs the tokenizers package: pip install tokenizers"
            ) from None
        read_text("tokenizer_path", path)
        try:
            self._tokenizer = Tokenizer.from_file(str(path))
        except Exception as problem:
            raise ValueError(
                f"tokenizer_path {os.fspath(path)} is no tokenizer.json: {problem}; help: the one of the model's Hugging Face folder"
            ) from None

    @property
    def vocab_size(self) -> int:
        """Number of ids."""
        return int(self._tokenizer.get_vocab_size())

    def encode(self, text: str) -> list[int]:
        """Ids of a text."""
        return list(self._tokenizer.encode(text).ids)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids."""
        return str(self._tokenizer.decode([int(number) for number in ids]))


def make_tokenizer(cfg: Any, text: str) -> CharTokenizer | BytePairTokenizer:
    """The tokenizer that `cfg.use_bpe` and `cfg.tokenizer_path` ask for; of the characters of the text by default.

    Raises ValueError for byte pairs without a path.
    """
    if not getattr(cfg, "use_bpe", False):
        return CharTokenizer(text)
    path = getattr(cfg, "tokenizer_path", None)
    if not path:
        raise ValueError(
            "tokenizer_type: bpe needs tokenizer_path, the tokenizer.json of the model; help: tokenizer_path: FILE, or tokenizer_type: char"
        )
    return BytePairTokenizer(_tokenizer_file(Path(path)))


def _tokenizer_file(path: Path) -> Path:
    """A path as it stands or below tt-train, where configurations of the reference's tree mean it; of a folder its tokenizer.json."""
    homes = (get_tt_metal_runtime_root(), get_tt_metal_home())
    found = next(
        (each for each in (path, *(Path(home) / "tt-train" / path for home in homes)) if each.exists()), path
    )
    return found / "tokenizer.json" if found.is_dir() else found


def load_shakespeare_text(path: str | os.PathLike[str] | None = None) -> str:
    """A text to train on: the file named, $TT_METAL_HOME/tt-train/data/shakespeare.txt, or the one that ships with the package."""
    from mgd.resources import configs_root

    if path is not None:
        return read_text("data_path", path)
    home = os.environ.get(contract.METAL_HOME)
    candidates = [Path(home) / "tt-train" / "data" / "shakespeare.txt"] if home else []
    candidates.append(configs_root() / "training" / "data" / "shakespeare.txt")
    for candidate in candidates:
        if candidate.is_file():
            return candidate.read_text(encoding="utf-8")
    raise FileNotFoundError(
        f"no text found; looked for {', '.join(map(str, candidates))}. help: --data_path FILE"
    )


def prepare_data(cfg: Any) -> tuple[Ids, Ids, int, Callable[[Sequence[int]], str]]:
    """(training ids, validation ids, vocabulary rounded up to 32, decode): nine tenths to train on, the rest to check.

    `cfg` is a `TrainingConfig` or the whole configuration as a map: `data_path` names the text; `tokenizer_type: bpe` needs
    `tokenizer_path`, a tokenizer.json or its folder, also below $TT_METAL_HOME/tt-train, and the tokenizers package.
    """
    if isinstance(cfg, Mapping):
        cfg = TrainingConfig(cfg)
    text = load_shakespeare_text(getattr(cfg, "data_path", None) or None)
    if not text:
        raise ValueError(f"data_path {cfg.data_path}: the file is empty; help: a text to train on")
    tokenizer = make_tokenizer(cfg, text)
    ids = np.array(tokenizer.encode(text), np.uint32)
    cut = int(0.9 * len(ids))
    return ids[:cut], ids[cut:], whole_tiles(tokenizer.vocab_size), tokenizer.decode


@naming_faults
def get_batch(
    ids: Ids, seq_len: int, batch_size: int, generator: np.random.Generator | None = None
) -> tuple[Ids, Ids]:
    """Random windows x and the same windows one token later, each (batch, seq_len) uint32.

    NumPy's global generator draws them unless one is given, and as in the reference never the last window then, but for a text that has no other.
    Raises ValueError for a text shorter than a window.
    """
    last = len(ids) - seq_len - 1
    if last < 0:
        raise ValueError(
            f"the text has {len(ids)} tokens, a window needs {seq_len + 1}; help: max_sequence_length: {len(ids) - 1}, or a longer text"
        )
    starts = (
        np.random.randint(0, max(last, 1), batch_size)
        if generator is None
        else generator.integers(0, last + 1, batch_size)
    )
    x = np.stack([ids[start : start + seq_len] for start in starts]).astype(np.uint32)
    y = np.stack([ids[start + 1 : start + 1 + seq_len] for start in starts]).astype(np.uint32)
    return x, y


@overload
def build_causal_mask(T: int, device: Literal[False] = False) -> npt.NDArray[np.float32]: ...
@overload
def build_causal_mask(T: int, device: Literal[True]) -> Tensor: ...
def build_causal_mask(T: int, device: bool = False) -> npt.NDArray[np.float32] | Tensor:
    """[1, 1, T, T]: 1 where a position may see another, itself and those before; with `device` a bfloat16 tensor, the same on every device.

    Raises ValueError unless T is a number of positions.
    """
    if not isinstance(T, Integral) or T < 1:
        raise ValueError(
            f"build_causal_mask: T is a number of positions, at least 1, not {T!r}; help: build_causal_mask(32)"
        )
    mask = np.tril(np.ones((1, 1, T, T), np.float32))
    return Tensor.from_numpy(mask, Layout.TILE, DataType.BFLOAT16) if device else mask
