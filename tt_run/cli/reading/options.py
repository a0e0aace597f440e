"""What an option is, and the base of the frozen values that a command line is read into.

A class of options declares each one once, as an attribute with its type (`tt_run.cli.reading.command_line`); reading them is in `parse`, showing
them in `help`. A table and a small reader in place of click, which `mgd` uses: a launch has 100 ms for everything that it adds to mpirun, and
importing click alone takes 29 of them, argparse 7; click also takes options out of the program's own words.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in `main`: typing is not imported for a help text
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any


_OUTPUTS = ("output", "output folder")


class Option:
    """One option: its names, what its value looks like, one line of help, and what it is for.

    `metavar` is empty for a flag, and in brackets, as in "[=FILE]", where the value may be left out: then it is `bare`. `kind` is how the
    value is read: a tuple of words to choose from, "text", "seconds" (more than 0), "count" (0 or more), "number" (1 or more), a "file" or
    "folder" that is read, or an "output" or "output folder" that is written. Of a `repeated` option every value counts, not only the last one.

    `beside` is what an "output" adds to its name for a second file, `endings` are those of names that it can be written under.

    `variable` makes it an option of emulated ranks: they find its value there ("1" for a flag; the values of a repeated option one on each line).
    `needs` names the condition of `tt_run.cli.reading.idle` without which it has no effect. `key` is the attribute.
    """

    __slots__ = (
        "bare",
        "beside",
        "default",
        "endings",
        "group",
        "help",
        "key",
        "kind",
        "metavar",
        "names",
        "needs",
        "repeated",
        "variable",
    )

    def __init__(
        self,
        group: str,
        names: str,
        metavar: str,
        help: str,
        kind: str | tuple[str, ...] = "text",
        default: object = None,
        bare: str | None = None,
        repeated: bool = False,
        variable: str = "",
        needs: str = "",
        beside: str = "",
        endings: str = "",
    ) -> None:
        self.group = group
        self.names = tuple(names.split())
        self.metavar = metavar
        self.help = help
        self.kind = kind if metavar else "flag"
        self.bare = bare
        self.repeated = repeated
        self.default = () if repeated else default if metavar else False
        self.variable = variable
        self.beside = beside
        self.endings = tuple(endings.split())
        self.needs = needs or ("emulate" if variable else "")
        self.key = ""

    def __set_name__(self, owner: type[Arguments], name: str) -> None:
        self.key = name

    def __get__(self, value: Arguments | None, owner: type[Arguments]) -> Any:
        return self if value is None else value.given.get(self.key, self.default)

    def __set__(self, value: Arguments, new: object) -> None:
        raise AttributeError(f"a command line is immutable; {self.key} cannot be set")

    @property
    def name(self) -> str:
        """The name that messages use."""
        return self.names[-1]

    @property
    def is_flag(self) -> bool:
        return self.kind == "flag"

    @property
    def is_path(self) -> bool:
        return self.kind in ("file", "folder", *_OUTPUTS)

    @property
    def is_folder(self) -> bool:
        return self.kind in ("folder", "output folder")

    @property
    def is_output(self) -> bool:
        """Whether it names what a run writes."""
        return self.kind in _OUTPUTS

    @property
    def needs_value(self) -> bool:
        """Whether the next word is its value when none is attached."""
        return not self.is_flag and self.bare is None


def option(
    group: str,
    names: str,
    metavar: str,
    help: str,
    kind: str | tuple[str, ...] = "text",
    default: object = None,
    *,
    bare: str | None = None,
    repeated: bool = False,
    variable: str = "",
    needs: str = "",
    beside: str = "",
    endings: str = "",
) -> Any:
    """An attribute that is an option; its annotation is the type of the value. See `Option`."""
    return Option(
        group, names, metavar, help, kind, default, bare, repeated, variable, needs, beside, endings
    )


class Arguments:
    """A command line as read: an immutable value whose attributes are its options. `rest` are the words that are none.

    `given` holds the values of the options that were written; every other one has its default. `configured` tells of those among them that a
    configuration file has set where it does.
    """

    __slots__ = ("configured", "given", "rest")
    given: Mapping[str, Any]
    rest: tuple[str, ...]
    configured: Mapping[str, str]
    anywhere = True
    """Whether options may also follow other words."""
    usage = ""
    """How a subcommand is written, for its help."""

    def __init__(
        self, given: Mapping[str, Any], rest: Sequence[str] = (), configured: Mapping[str, str] | None = None
    ) -> None:
        object.__setattr__(self, "given", dict(given))
        object.__setattr__(self, "rest", tuple(rest))
        object.__setattr__(self, "configured", dict(configured or {}))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a command line is immutable; {name} cannot be set")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Arguments) and (self.given, self.rest) == (other.given, other.rest)

    def __hash__(self) -> int:
        return hash((tuple(sorted(self.given)), self.rest))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.given!r}, {self.rest!r})"

    @classmethod
    def options(cls) -> tuple[Option, ...]:
        """Every option, in the order of declaration."""
        return tuple(_declared(cls))


def _declared(cls: type[Arguments]) -> Iterator[Option]:
    for base in reversed(cls.__mro__):
        for value in vars(base).values():
            if isinstance(value, Option):
                yield value
