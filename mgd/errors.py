"""Everything that `mgd` raises on purpose.

```
MgdError                    carries diagnostics, shows them as its text
├── UnreadableError         the file cannot be read at all: missing, a folder, no permission, too large
├── ParseError              it is not a descriptor in text format (or not YAML): no value could be made of it
├── RejectedError           it is one, and the rules refuse it
└── UnsayableError          a conversion or export has no words for something in it
```
Whoever catches `MgdError` has handled every mistake that a file can hold.
"""

from __future__ import annotations

from collections.abc import Iterable

from mgd.diagnostics import Diagnostic, render


class MgdError(Exception):
    """The root of the tree. `diagnostics` holds every finding, errors first met first."""

    def __init__(self, diagnostics: Iterable[Diagnostic] | str) -> None:
        if isinstance(diagnostics, str):
            self.diagnostics: tuple[Diagnostic, ...] = ()
            self._text = diagnostics
        else:
            self.diagnostics = tuple(diagnostics)
            self._text = "\n".join(render(each) for each in self.diagnostics)
        super().__init__(self._text)


class UnreadableError(MgdError):
    """The file cannot be read: missing, a folder, no permission, larger than a descriptor can be."""


class ParseError(MgdError):
    """The text is not in the format; every syntax error that could be found is listed."""


class RejectedError(MgdError):
    """The descriptor is well formed, and a rule refuses it."""


class UnsayableError(MgdError):
    """The target format has no words for something in the descriptor."""
