"""Sections of a training configuration that upstream's programs read and the emulation only checks."""

from __future__ import annotations

from tt_run.runtime.train.common.documents import FileSection
from tt_run.runtime.train.kinds import flag, number, text, whole_number
from tt_run.runtime.train.optimizers.settings import UPSTREAM
from tt_run.runtime.train.settings import Setting

PROGRAMS = f"{UPSTREAM}; for programs that read it"


class DiffusionConfig(FileSection):
    """How a diffusion model's noise grows."""

    section = "diffusion_config"
    recipe: Setting[str | None] = Setting(text, None, PROGRAMS)
    timesteps = Setting(whole_number(1), 1000, PROGRAMS)
    beta_start = Setting(number(0.0), 1e-4, PROGRAMS)
    beta_end = Setting(number(0.0), 0.02, PROGRAMS)
    cfg_drop_prob = Setting(number(0.0, high=1.0), 0.1, PROGRAMS)


class LoggingConfig(FileSection):
    """What a program tells of its steps."""

    section = "logging_config"
    log_interval = Setting(whole_number(1), 100, PROGRAMS)
    wandb = Setting(flag, False, PROGRAMS)
