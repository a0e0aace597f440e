"""Files as bytes and as text, or the reason why not; the one place of `mgd` that opens what a user names."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from mgd.diagnostics import Diagnostic, Label, Position, Severity
from mgd.errors import ParseError, UnreadableError
from mgd.text import problems as codes
from mgd.text.source import Source

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import BinaryIO

_CHUNK = 1 << 20
LARGEST = 16 << 20
"""Bytes; a descriptor of 4,096 meshes with 16,384 links has 5 million."""


def read_bytes(name: str) -> bytes:
    """The content of a file. Raises UnreadableError."""
    try:
        with open(name, "rb") as stream:
            mode = stat.S_IFMT(os.fstat(stream.fileno()).st_mode)
            if mode not in (stat.S_IFREG, stat.S_IFIFO, stat.S_IFCHR):
                raise _unreadable(name, "it is not a file", "name a .textproto file")
            data = b"".join(_chunks(stream))
    except IsADirectoryError:
        raise _unreadable(name, "it is a folder", f"name the files: {name}/*.textproto") from None
    except FileNotFoundError:
        raise _unreadable(name, "there is no such file", _similar(name)) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _unreadable(name, reason.lower(), "check the path and its permissions") from None
    if len(data) > LARGEST:
        raise _unreadable(name, f"it is larger than {LARGEST >> 20} MiB", "name a descriptor")
    return data


def _chunks(stream: BinaryIO) -> Iterator[bytes]:
    """The content up to a little more than LARGEST; a device or pipe without end is left there."""
    total = 0
    while total <= LARGEST and (chunk := stream.read(_CHUNK)):
        total += len(chunk)
        yield chunk


def encoding_help(data: bytes, file: str) -> str:
    """What to type for bytes that are no UTF-8: the call of iconv, where they look like text of another encoding."""
    import shlex

    stem, ending = os.path.splitext(file)  # noqa: PTH122 - pathlib is not loaded yet
    new = shlex.quote(f"{stem}-utf8{ending}")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return f"iconv -f utf-16 -t utf-8 {shlex.quote(file)} > {new}, or save it as UTF-8 in the editor"
    if b"\0" in data:
        return "name a text file: this one holds bytes that no text has"
    return f"iconv -f latin1 -t utf-8 {shlex.quote(file)} > {new}, or save it as UTF-8 in the editor"


def as_source(text: str | bytes, file: str) -> tuple[Source, list[Diagnostic]]:
    """The text to parse, and what is odd about its bytes. Raises ParseError for bytes that no text has."""
    warnings: list[Diagnostic] = []
    nul_help = "save it as plain text"
    if isinstance(text, bytes):
        if text.startswith((b"\xff\xfe", b"\xfe\xff")):
            nul_help = encoding_help(text, file)
        try:
            decoded = text.decode("utf-8")
        except UnicodeDecodeError as error:
            before = text[: error.start].decode("utf-8", "backslashreplace")
            where = Source(before + " ", file).position(len(before))
            told = f"the byte 0x{text[error.start]:02x} is not UTF-8"
            warnings.append(
                Diagnostic(codes.BAD_UTF8, told, (Label(where),), "save the file as UTF-8", Severity.WARNING)
            )
            decoded = text.decode("utf-8", "backslashreplace")
    else:
        decoded = text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
    source = Source(decoded, file)
    if decoded.startswith("\ufeff"):
        import shlex

        bare = "save it as UTF-8 without BOM: sed -i '1s/^\\xEF\\xBB\\xBF//' " + shlex.quote(file)
        raise _not_text(source, 0, "the file begins with a byte order mark", bare)
    if (nul := decoded.find("\0")) >= 0:
        raise _not_text(source, nul, "the file holds a NUL byte", nul_help)
    return source, warnings


def _not_text(source: Source, offset: int, message: str, help: str) -> ParseError:
    return ParseError([Diagnostic(codes.NOT_TEXT, message, (Label(source.position(offset)),), help)])


def _unreadable(name: str, reason: str, help: str) -> UnreadableError:
    return UnreadableError(
        [
            Diagnostic(
                codes.UNREADABLE,
                f"cannot read {codes.quote_text(name, 200)}: {reason}",
                (Label(Position(name)),),
                help,
            )
        ]
    )


CHECK_PATH = "check the path"


def _similar(name: str) -> str:
    """A file beside it whose name is near, for a typo."""
    from pathlib import Path

    path = Path(name)
    try:
        others = list(path.parent.iterdir())[:1000]
        # Endings are alike between files that have nothing else in common.
        near = codes.nearest(
            path.name, [each.name for each in others if codes.nearest(path.stem, [each.stem])]
        )
        if near:
            return f"did you mean {path.parent / near}?"
        there = sorted(str(path.parent / each.name) for each in others if each.suffix == ".textproto")
    except FileNotFoundError:
        return f"{CHECK_PATH}: there is no folder {codes.quote_text(str(path.parent), 200)}"
    except (OSError, ValueError):
        return CHECK_PATH
    if len(there) > 3:
        there = [*there[:3], f"{len(there) - 3} more"]
    listed = " and ".join(filter(None, (", ".join(there[:-1]), *there[-1:])))
    return f"{CHECK_PATH}: {listed} {'are' if len(there) > 1 else 'is'} there" if there else CHECK_PATH


def write_file(name: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file anew; what a full disk leaves of it goes. Raises OSError that names the file."""
    data = content.encode() if isinstance(content, str) else content
    try:
        with open(name, "wb") as stream:
            stream.write(data)
    except OSError as error:
        if error.filename is None:
            error.filename = os.fspath(name)
            os.unlink(name)  # noqa: PTH108 - pathlib is not loaded yet
        raise
