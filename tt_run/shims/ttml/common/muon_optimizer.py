"""`ttml.common.muon_optimizer`: names only; the Muon optimizer."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.optimizers.muon": "Muon MuonConfig"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
