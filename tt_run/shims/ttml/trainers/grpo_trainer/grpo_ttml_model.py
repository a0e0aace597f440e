"""`ttml.trainers.grpo_trainer.grpo_ttml_model`: the module itself, because programs replace its functions."""

import sys as _sys

from tt_run.runtime.train.trainers import model_source as _model_source

_sys.modules[__name__] = _model_source
