"""`ttml.autograd.numpy_assign`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.autograd.assigning": "assign_numpy"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
