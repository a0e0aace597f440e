"""`ttml.init`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.modules.initial": """
        uniform normal constant zeros ones xavier_uniform xavier_normal kaiming_uniform kaiming_normal
        uniform_ normal_ constant_ zeros_ ones_ xavier_uniform_ xavier_normal_ kaiming_uniform_ kaiming_normal_
        calculate_gain manual_seed
    """
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
