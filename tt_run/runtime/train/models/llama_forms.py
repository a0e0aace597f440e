"""`ttml.models.llama.Llama` and its configuration: the documents' names and Hugging Face's, told apart by what they are given."""

from __future__ import annotations

from typing import Any

from tt_run.runtime.errors import type_name
from tt_run.runtime.train.models import llama
from tt_run.runtime.train.models.decoders import llama as decoder
from tt_run.runtime.train.models.decoders import llama_config as decoder_config

_HUGGING_FACE = set(decoder_config.LlamaConfig.__dataclass_fields__) - set(
    llama.LlamaConfig.__dataclass_fields__
)


class _EitherKind(type):
    """Classes of which the other kind's objects are instances, too."""

    _other: type

    def __instancecheck__(cls, instance: Any) -> bool:
        return super().__instancecheck__(instance) or isinstance(instance, cls.__dict__.get("_other", ()))


class LlamaConfig(llama.LlamaConfig, metaclass=_EitherKind):
    """Sizes of a Llama. With `hidden_size` and other names of Hugging Face it is a configuration of that kind.

    Raises TypeError for names of both kinds together, ValueError for sizes that do not divide.
    """

    _other = decoder_config.LlamaConfig

    def __new__(cls, *args: Any, **sizes: Any) -> Any:
        if _HUGGING_FACE & set(sizes):
            return decoder_config.LlamaConfig(*args, **sizes)
        return super().__new__(cls)


class Llama(decoder.DecoderLlama, metaclass=_EitherKind):
    """A Llama with the names of its configuration's kind. A class derived from it is of Hugging Face's kind.

    Raises TypeError when a derived class gets a configuration of the other kind.
    """

    _other = llama.Llama

    def __new__(cls, config: Any, *args: Any, **settings: Any) -> Any:
        if isinstance(config, decoder_config.LlamaConfig):
            return super().__new__(cls)
        if not isinstance(config, llama.LlamaConfig):
            raise TypeError(
                f"Llama: a LlamaConfig is wanted, not {type_name(config)}; help: Llama(LlamaConfig(hidden_size=64, …))"
            )
        if cls is Llama:
            return llama.Llama(config, *args, **settings)
        raise TypeError(
            f"{cls.__name__} is derived from Llama, which needs a configuration of Hugging Face's names; help: LlamaConfig(hidden_size=…, …)"
        )

    def load_from_safetensors(self, directory: str) -> None:
        """Load weights of a Hugging Face Llama from every *.safetensors file of a directory."""
        from tt_run.runtime.train.models.decoders.weights import load_from_safetensors

        load_from_safetensors(self, directory)
