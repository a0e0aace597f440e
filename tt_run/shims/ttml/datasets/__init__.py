"""`ttml.datasets`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.datasets.dataloader": "Batch TTMLDataloader InMemoryDataloader",
    "tt_run.runtime.train.datasets.collation": "sft_collate_fn causal_lm_collate_fn",
}
_SUBMODULES = ("dataloader", "hf_dataloader")

__getattr__, __dir__ = _publish(globals(), _TABLE, _SUBMODULES)
