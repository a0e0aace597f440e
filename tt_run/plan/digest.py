"""SHA-256 by the interpreter's own module: hashlib loads OpenSSL with it, which takes a launch 2 ms."""

from __future__ import annotations

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from hashlib import sha256
else:
    try:
        from _sha2 import sha256  # since Python 3.12
    except ImportError:
        try:
            from _sha256 import sha256
        except ImportError:  # a Python that was built without
            from hashlib import sha256

__all__ = ["sha256"]
