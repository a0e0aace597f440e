"""The cosine schedule of `ttml.common`, which goes on where that of `ttml.schedulers` ends. Source: upstream's tests of both packages."""

from __future__ import annotations

from tt_run.runtime.train.optimizers import schedulers


class CosineAnnealingScheduler(schedulers.CosineAnnealingScheduler):
    """eta_min + (base - eta_min) * (1 + cos(pi * step / T_max)) / 2, which rises again after T_max, as torch's does."""

    def rate(self, step: int) -> float:
        """The learning rate after `step` steps."""
        return self._annealed(step)
