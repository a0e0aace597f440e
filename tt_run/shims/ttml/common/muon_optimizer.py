"""`ttml.common.muon_optimizer`: names only; the Muon optimizer."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.optimizers.muon": "Muon MuonConfig",
    "tt_run.runtime.train.optimizers.registry": "MuonWithAdamW register=register_muon",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
