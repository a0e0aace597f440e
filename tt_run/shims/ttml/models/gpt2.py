"""`ttml.models.gpt2`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.gpt": """
        GPT2 GPT2Transformer=GPT2 GPT2TransformerConfig GPT2TransformerConfigExperimental=NanoGPTExperimentalConfig create_gpt2_model
    """,
    "tt_run.runtime.train.models.transformer": "PositionalEmbeddingType",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
