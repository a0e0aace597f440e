"""`ttml.common.data`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.common.data": "CharTokenizer BytePairTokenizer make_tokenizer load_shakespeare_text prepare_data get_batch build_causal_mask PAD_TOKEN BEGIN_TOKEN END_TOKEN"
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
