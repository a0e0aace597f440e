"""`ttml.modules.lora`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.modules.lora": "LoraConfig LoraModel LoraLinear",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
