"""What the reference library 0.81.1 has by name, so that a name that is missing here is told from one that exists nowhere.

`reference_names.txt` lists one name per line, those of operations with a trailing `()`; `scripts/reference_names` made it.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

VERSION = "TT-NN 0.81.1"
PAGE = "docs/reference/operations.md"

# Names whose meaning is a kernel, a register or a circular buffer of a device: there is nothing to compute without one.
_KERNELS = (
    "generic_op",
    "ProgramDescriptor",
    "KernelDescriptor",
    "CBDescriptor",
    "CBFormatDescriptor",
    "SemaphoreDescriptor",
    "ConfigDescriptor",
    "TileDescriptor",
    "RuntimeArgs",
    "circular_buffer",
    "prefetcher",
    "program_descriptor",
    "cb_descriptor",
    "get_cb_address",
    "TensorAccessorArgs",
)


@lru_cache(maxsize=1)
def names() -> dict[str, bool]:
    """Every public name of the reference, and whether it is an operation."""
    lines = (
        Path(__file__).with_name("reference_names.txt").read_text(encoding="utf-8").split("\n")
    )  # installed beside this module
    return {line.removesuffix("()"): line.endswith("()") for line in lines if line and line[0] != "#"}


def operations(namespace: str = "ttnn") -> list[str]:
    """The qualified names of the reference's operations in a namespace and below."""
    return [
        name for name, is_operation in names().items() if is_operation and name.startswith(f"{namespace}.")
    ]


def is_kernel(name: str) -> bool:
    """Whether a name of the reference means something of a kernel, which the emulation leaves out on purpose."""
    return any(word in name for word in _KERNELS)


def sentence(name: str) -> str:
    """What to say of a name of the reference that is not here."""
    why = (
        "is part of writing kernels, which the emulation does not run"
        if is_kernel(name)
        else "is not emulated"
    )
    return f"{name} exists in {VERSION} and {why}; what is: {PAGE}"
