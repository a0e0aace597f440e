"""`ttml.models.llama.Llama` and its configuration: the documents' names and Hugging Face's, told apart by what they are given."""

from __future__ import annotations

from typing import Any

from tt_run.runtime.train.models import llama
from tt_run.runtime.train.models.decoders import llama as decoder

_HUGGING_FACE = set(decoder.LlamaConfig.__dataclass_fields__) - set(llama.LlamaConfig.__dataclass_fields__)


class LlamaConfig(llama.LlamaConfig):
    """Sizes of a Llama. With `hidden_size` and other names of Hugging Face it is a configuration of that kind.

    Raises TypeError for names of both kinds together, ValueError for sizes that do not divide.
    """

    def __new__(cls, *args: Any, **sizes: Any) -> Any:
        if _HUGGING_FACE & set(sizes):
            return decoder.LlamaConfig(*args, **sizes)
        return super().__new__(cls)


class Llama(llama.Llama):
    """A Llama with the names of its configuration's kind."""

    def __new__(cls, config: Any, **settings: Any) -> Any:
        if isinstance(config, decoder.LlamaConfig):
            return decoder.DecoderLlama(config, **settings)
        return super().__new__(cls)
