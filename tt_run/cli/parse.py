"""Reading the command line: options up to the first word that is not one, then the program, whole.

`tt-run --rank-binding f python -m pytest -svv --dry-run` reaches pytest with every word (specification: tt-run section 1).
"""

from __future__ import annotations

from tt_run.cli.options import OPTIONS, Option

TYPE_CHECKING = False  # as in `main`: typing is not imported for a help text
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_BY_NAME = {name: option for option in OPTIONS for name in option.names}


def parse(words: Sequence[str]) -> dict[str, Any]:
    """The value of every option by key, and `program` as a tuple of words.

    The last of two equal options counts. Raises UsageError for an option that does not exist, and for values that are missing or wrong.
    """
    values: dict[str, Any] = {option.key: option.default for option in OPTIONS}
    rest = list(words)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        word = _next(rest)
        if word == "--":
            break
        option, attached = _find(word)
        if option.is_flag:
            if attached is not None:
                raise _wrong(
                    "TTR021", f"{option.names[-1]} takes no value", f"write {option.names[-1]} alone"
                )
            values[option.key] = True
            continue
        if attached is None and not rest:
            raise _wrong("TTR021", f"{word} needs a value", f"write {word} {option.metavar}")
        values[option.key] = _value(option, attached if attached is not None else rest.pop(0))
    values["program"] = tuple(rest)
    return values


def words_without(words: Sequence[str], *keys: str) -> tuple[str, ...]:
    """The command line less some options, by key; the program's own words are left alone. `words` have been parsed before."""
    rest, kept = list(words), []
    while rest and rest[0].startswith("-") and rest[0] != "-":
        taken = [_next(rest)]
        if taken[0] == "--":
            kept += taken
            break
        option, attached = _find(taken[0])
        if not option.is_flag and attached is None:
            taken.append(rest.pop(0))
        if option.key not in keys:
            kept += taken
    return (*kept, *rest)


def _next(rest: list[str]) -> str:
    """Takes the next word; of short options in one, as in -vv or -vm FILE, the first."""
    word = rest.pop(0)
    if word[:2] == "-v" and word[2:3] in ("v", "m", "M"):
        rest.insert(0, f"-{word[2:]}")
        word = "-v"
    return word


def _find(word: str) -> tuple[Option, str | None]:
    """The option of a word, and the value that is attached to it: `--name=value` or `-nvalue`."""
    name, equals, value = word.partition("=")
    if name in _BY_NAME:
        return _BY_NAME[name], value if equals else None
    if not word.startswith("--") and word[:2] in _BY_NAME and not _BY_NAME[word[:2]].is_flag:
        return _BY_NAME[word[:2]], word[2:]
    import difflib

    near = difflib.get_close_matches(name, _BY_NAME, n=2, cutoff=0.6)
    hint = (
        f"did you mean {' or '.join(near)}?"
        if near
        else "options of the program go after it; tt-run --help lists tt-run's"
    )
    raise _wrong("TTR020", f"tt-run has no option {name}", hint)


def _value(option: Option, text: str) -> Any:
    """The text as the option's kind of value."""
    if isinstance(option.kind, tuple):
        if text in option.kind:
            return text
        raise _wrong(
            "TTR021",
            f"{option.names[-1]} {text}: not one of {', '.join(option.kind)}",
            _example(option, option.kind[0]),
        )
    if option.kind == "text":
        return text
    try:
        number = float(text) if option.kind == "seconds" else int(text)
    except ValueError:
        number = -1
    if option.kind == "seconds" and 0 < number < float("inf"):
        return number
    if option.kind != "seconds" and number >= (1 if option.kind == "number" else 0):
        return number
    wanted = {
        "seconds": "seconds, more than 0",
        "number": "a whole number from 1",
        "count": "a whole number from 0",
    }
    raise _wrong(
        "TTR021", f"{option.names[-1]} {text}: not {wanted[str(option.kind)]}", _example(option, "1")
    )


def _example(option: Option, value: str) -> str:
    return f"write {option.names[-1]} {value}"


def _wrong(code: str, message: str, hint: str) -> Exception:
    from mgd.diagnostics import Diagnostic
    from tt_run.errors import UsageError

    return UsageError(Diagnostic(code, message, help=hint))
