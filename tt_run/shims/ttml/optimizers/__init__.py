"""`ttml.optimizers`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.optimizers.base": "OptimizerBase",
    "tt_run.runtime.train.optimizers.sgd": "SGD SGDConfig SGDComposite SGDCompositeConfig=SGDConfig",
    "tt_run.runtime.train.optimizers.adamw": """
        AdamW AdamWConfig MorehAdamW AdamWFullPrecision AdamWFullPrecisionConfig AdamWComposite AdamWCompositeConfig=AdamWConfig
    """,
    "tt_run.runtime.train.optimizers.muon": "Muon MuonConfig MuonComposite NoOp",
    "tt_run.runtime.train.optimizers.registry": "create_optimizer register_optimizer _py_optimizer_registry=registered",
    "tt_run.runtime.train.optimizers.remote": "RemoteOptimizer",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
