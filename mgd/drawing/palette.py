"""The colours of a picture, for light and dark pages. They stand in the file itself, so that every viewer shows them."""

from __future__ import annotations

INK: dict[str, tuple[str, str]] = {
    "page": ("#ffffff", "#0d1117"),
    "ink": ("#1f2328", "#f0f6fc"),
    "soft": ("#59636e", "#9198a1"),
    "line": ("#8c959f", "#656c76"),
    "wrap": ("#0969da", "#58a6ff"),
    "far": ("#8250df", "#bc8cff"),
    "z": ("#bc4c00", "#f0883e"),
    "bad": ("#cf222e", "#ff7b72"),
    "box": ("#f6f8fa", "#151b23"),
    "edge": ("#d1d9e0", "#3d444d"),
}
"""Light and dark colour by what it is for."""
HOSTS = (
    ("#1a7f37", "#3fb950"),
    ("#0969da", "#58a6ff"),
    ("#9a6700", "#d29922"),
    ("#8250df", "#bc8cff"),
    ("#1b7c83", "#39c5cf"),
    ("#bc4c00", "#f0883e"),
)
"""Colours of host blocks, in turn by rank."""
HEAT = ("#8c959f", "#2f81f7", "#d9730d", "#cf222e")
"""From nothing to the most, seen on light and dark pages; lines grow wider with it, for eyes that see colours otherwise."""


def light(name: str) -> str:
    """The colour on a light page."""
    return INK[name][0]


def heat(share: float) -> str:
    """The colour of a share of the most, 0 to 1."""
    place = min(max(share, 0.0), 1.0) * (len(HEAT) - 1)
    low = min(int(place), len(HEAT) - 2)
    mixed = [
        round(
            int(HEAT[low][i : i + 2], 16) * (1 - (place - low))
            + int(HEAT[low + 1][i : i + 2], 16) * (place - low)
        )
        for i in (1, 3, 5)
    ]
    return "#{:02x}{:02x}{:02x}".format(*mixed)


def dark_style(scope: str = "") -> str:
    """The rules that turn a picture dark: each element's class says what its colour is for."""
    rules = []
    for name, (_, dark) in INK.items():
        rules.append(f"{scope}.f-{name}{{fill:{dark}}}{scope}.s-{name}{{stroke:{dark}}}")
    for number, (_, dark) in enumerate(HOSTS):
        rules.append(f"{scope}.h{number}{{stroke:{dark}}}{scope}.host.h{number}{{fill:{dark}}}")
    return "".join(rules)
