"""Reading a command line into a value: options up to the first word that is not one, then the program, whole.

`tt-run --rank-binding f python -m pytest -svv --dry-run` reaches pytest with every word, as the reference's parser does not.
"""

from __future__ import annotations

from tt_run.cli.reading.command_line import CommandLine
from tt_run.cli.reading.options import Arguments, Option

TYPE_CHECKING = False  # as in `main`: typing is not imported for a help text
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, TypeVar

    A = TypeVar("A", bound=Arguments)

LONGEST_NUMBER = 10  # digits, and more than any count of ranks, meshes or restarts has
_KINDS = {
    "seconds": "seconds, more than 0",
    "number": "a whole number from 1",
    "count": "a whole number from 0",
}


def parse(words: Sequence[str]) -> CommandLine:
    """The command line of a launch. Raises UsageError for an option that does not exist, and for values that are missing or wrong."""
    return read(words, CommandLine)


def read(words: Sequence[str], kind: type[A]) -> A:
    """The command line as a value of `kind`; of two equal options the last counts. Raises UsageError."""
    names = _names(kind)
    given: dict[str, Any] = {}
    rest, others = list(words), []
    while rest:
        if not _is_option(rest[0]):
            if not kind.anywhere:
                break
            others.append(rest.pop(0))
            continue
        word = _next(rest)
        if word == "--":
            break
        option, attached = _find(word, names, kind, rest[0] if rest else "…")
        if attached is None and option.needs_value:
            _expect_value(option, word, rest, names)
        value = _given_value(option, word, attached, rest)
        before = given.pop(option.key, ())  # so that they stand in the order of writing
        given[option.key] = (*before, value) if option.repeated else value
    if kind.anywhere and kind.usage:
        _refuse_spare(kind, (*others, *rest))
    return kind(given, (*others, *rest))


def _refuse_spare(kind: type[Arguments], rest: Sequence[str]) -> None:
    """Refuses words that a command does not take, as its usage says: a name behind `tt-run clean` would be taken for the run to remove."""
    command, takes = kind.usage.split()[:2], [word for word in kind.usage.split()[2:] if word != "[OPTIONS]"]
    if any("..." in word or word == "|" for word in takes) or len(rest) <= len(takes):
        return
    line = " ".join((*command, *rest[: len(takes)]))
    raise _wrong(
        "TTR021",
        f"{' '.join(command)}: unexpected {rest[len(takes)]}",
        f"write {line}; {' '.join(command)} --help lists its options",
    )


def words_without(words: Sequence[str], *keys: str) -> tuple[str, ...]:
    """The command line of a launch less some options, by key; the program's own words are left alone. `words` have been parsed before."""
    names = _names(CommandLine)
    rest, kept = list(words), []
    while rest and _is_option(rest[0]):
        taken = [_next(rest)]
        if taken[0] == "--":
            kept += taken
            break
        option, attached = _find(taken[0], names, CommandLine)
        if option.needs_value and attached is None:
            taken.append(rest.pop(0))
        if option.key not in keys:
            kept += taken
    return (*kept, *rest)


def _names(kind: type[Arguments]) -> dict[str, Option]:
    return {name: option for option in kind.options() for name in option.names}


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-"


def _next(rest: list[str]) -> str:
    """Takes the next word; of short options in one, as in -vv or -vm FILE, the first."""
    word = rest.pop(0)
    if word[:2] == "-v" and word[2:3] in ("v", "m", "M"):
        rest.insert(0, f"-{word[2:]}")
        word = "-v"
    return word


def _find(
    word: str, names: Mapping[str, Option], kind: type[Arguments], following: str = "…"
) -> tuple[Option, str | None]:
    """The option of a word, and the value that is attached to it: `--name=value` or `-nvalue`; a hint has the `following` word in it."""
    name, equals, value = word.partition("=")
    if name in names:
        return names[name], value if equals else None
    if not word.startswith("--") and word[:2] in names and not names[word[:2]].is_flag:
        return names[word[:2]], word[2:]
    import difflib

    from tt_run.cli.reading.foreign import hint_for

    is_launch = not kind.anywhere
    command = "tt-run" if kind is CommandLine or not kind.usage else " ".join(kind.usage.split()[:2])
    foreign = hint_for(name, value if equals else following) if is_launch else None
    if foreign is not None:
        raise _wrong("TTR020", f"tt-run has no option {name}", foreign)
    bare = name.strip("-").replace("_", "").replace("-", "").lower()
    near = [each for each in names if each.strip("-").replace("-", "") == bare]
    near = near or difflib.get_close_matches(name, names, n=2, cutoff=0.7)
    where = f"{command} --help lists those there are"
    if is_launch:
        where = f"options of the program go after it; {command} --help lists those of {command}"
    elif others := [each for option in kind.options() if option.key != "help" for each in option.names[-1:]]:
        where = f"it has {', '.join(others)}: {where}"
    hint = f"did you mean {' or '.join(near)}?" if near else where
    raise _wrong("TTR020", f"{command} has no option {name}", hint)


def _expect_value(option: Option, word: str, rest: Sequence[str], names: Mapping[str, Option]) -> None:
    """Refuses an option that stands where the value of another one is missing; words for other programs may look like options of this one."""
    following = rest[0] if rest else ""
    is_another = option.metavar != "WORDS" and following.partition("=")[0] in names
    if is_another:
        hint = f"write {word} {_sample(option)}; {word}={following} if that is the value"
        raise _wrong("TTR021", f"{word} needs a value, and {following} is an option", hint)
    if not rest or (following == "--" and option.metavar != "WORDS"):
        raise _wrong("TTR021", f"{word} needs a value", f"write {word} {_sample(option)}")


def _sample(option: Option) -> str:
    from tt_run.cli.reading.samples import sample

    return sample(option)


def _given_value(option: Option, word: str, attached: str | None, rest: list[str]) -> Any:
    """The value that the option has here; takes it from `rest` where it stands alone."""
    if option.is_flag:
        if attached is not None:
            raise _wrong("TTR021", f"{option.name} takes no value", f"write {option.name} alone")
        return True
    if attached is None and not option.needs_value:
        return option.bare
    if attached is not None:
        return read_value(option, attached)
    text = rest.pop(0)
    try:
        return read_value(option, text)
    except Exception as error:
        raise _swallowed(option, text, rest) or error from None


def _swallowed(option: Option, text: str, rest: Sequence[str]) -> Exception | None:
    """What to say where the value that cannot be read is the program; None where it is no command."""
    import shutil

    if "/" in text or shutil.which(text) is None:
        return None
    return swallowed(option, text, rest)


def swallowed(option: Option, word: str, rest: Sequence[str]) -> Exception:
    """The error of an option without a value, which took the first word of the program for one."""
    line = " ".join((option.name, _sample(option), word, *rest[:1]))
    message = f"{option.name} has no value: it took {word!r}, which is the program"
    return _wrong("TTR021", message, f"write {line}")


def read_value(option: Option, text: str) -> Any:
    """The text as the option's kind of value. Raises UsageError."""
    if isinstance(option.kind, tuple):
        if text in option.kind:
            return text
        import difflib

        choices = ", ".join(option.kind)
        meant = [*difflib.get_close_matches(text, option.kind, 1), option.kind[0]][0]
        raise _wrong("TTR021", f"{option.name} {text}: not one of {choices}", _example(option, meant))
    if option.kind not in _KINDS:
        return text
    try:
        number = float(text) if option.kind == "seconds" else int(text[:LONGEST_NUMBER])
    except ValueError:
        number = -1
    if option.kind == "seconds" and 0 < number < float("inf"):
        return number
    if option.kind != "seconds" and len(text) < LONGEST_NUMBER and number >= (option.kind == "number"):
        return number
    meant = _seconds_of(text) if option.kind == "seconds" else "1"
    raise _wrong("TTR021", f"{option.name} {text}: not {_KINDS[option.kind]}", _example(option, meant))


def _seconds_of(text: str) -> str:
    """The seconds that `5m`, `2 h` or `30s` mean; 60 for anything else."""
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz ").strip()
    units = {"s": 1, "m": 60, "h": 3600, "d": 86400}
    unit = text.removeprefix(number).strip()[:1]
    return (
        str(int(number) * units[unit]) if number.isdecimal() and len(number) < 7 and unit in units else "60"
    )


def _example(option: Option, value: str) -> str:
    return f"write {option.name}{'=' if option.metavar.startswith('[=') else ' '}{value}"


def _wrong(code: str, message: str, hint: str) -> Exception:
    from mgd.diagnostics import Diagnostic
    from tt_run.errors import UsageError

    return UsageError(Diagnostic(code, message, help=hint))
