"""What the kernel's memory killer has done on this machine while a run went on."""

from __future__ import annotations


def memory_kills() -> int:
    """How many processes the kernel's memory killer has ended on this machine since it was started; 0 where it does not say."""
    try:
        with open("/proc/vmstat", "rb") as stream:
            _, found, rest = stream.read().partition(b"\noom_kill ")
    except OSError:
        return 0
    return int(rest.split(None, 1)[0]) if found else 0


def memory_told(kills: int) -> str:
    """What so many ends by the memory killer amount to; empty for none."""
    times = "one process" if kills == 1 else f"{kills} processes"
    return f"the kernel has ended {times} of this machine for it meanwhile" if kills > 0 else ""
