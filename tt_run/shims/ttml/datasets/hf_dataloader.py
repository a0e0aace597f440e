"""`ttml.datasets.hf_dataloader`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.datasets.dataloader": "InMemoryDataloader",
    "tt_run.runtime.train.datasets.collation": "sft_collate_fn",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
