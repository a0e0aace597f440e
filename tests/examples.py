"""How many examples of Hypothesis a test looks at: a third of them among the quick tests, all where the wide ones run, as in CI."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

QUICK = "not slow and not wide"
_few = False

# How long an example takes says nothing on a busy machine.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("few", settings.get_profile("untimed"), max_examples=33)


def choose(marks: str) -> None:
    """Take the profile of a run by what it selects with -m; before tests are imported, whose numbers follow it."""
    global _few
    _few = marks == QUICK
    settings.load_profile("few" if _few else "untimed")


def examples(number: int) -> int:
    """The number of examples for `max_examples`."""
    return max(number // 3, 1) if _few else number
