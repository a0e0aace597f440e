"""`ttml.common.muon_optimizer`: names only; the Muon optimizer."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.optimizers.muon": "Muon MuonConfig",
    "tt_run.runtime.train.optimizers.registry": "MuonWithAdamW=make_muon_with_adamw register=register_muon",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
