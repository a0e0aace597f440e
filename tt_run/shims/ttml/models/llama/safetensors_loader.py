"""`ttml.models.llama.safetensors_loader`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.decoders.weights": "load_from_safetensors",
    "tt_run.runtime.train.models.loading": "_unpermute_proj_rows=interleaved",
    "tt_run.runtime.train.models.decoders.llama_files": """
        ROW_DIM COL_DIM=COLUMN_DIM _TIED_NAMES=TIED_NAMES _assemble=assemble _canonical=canonical _check_coverage=check_coverage
        _check_sources=check_sources _pad_to=pad_to _require_shape=require_shape _rules=rules _sharded_dim=sharded_dim _to_bf16_4d=to_bf16_4d
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
