"""mgd.lean against the standard library's dataclasses: the same definitions behave the same."""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
import pickle
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from mgd import lean
from tests.sweep import thinned

FORMS = [
    {"frozen": True, "slots": True},
    pytest.param({"frozen": True}, marks=pytest.mark.wide),
    pytest.param({"slots": True}, marks=pytest.mark.wide),
    {},
    {"frozen": True, "slots": True, "order": True},
    pytest.param({"frozen": True, "eq": False}, marks=pytest.mark.wide),
    pytest.param({"slots": True, "repr": False}, marks=pytest.mark.wide),
    {"kw_only": True},
]


def _define(module: Any, form: dict[str, bool]) -> type[Any]:
    class Chip:
        """One chip."""

        unit: ClassVar[str] = "chip"
        number: int
        host: str = "a"
        links: tuple[int, ...] = module.field(default=(), compare=False)
        env: dict[str, int] = module.field(default_factory=dict, compare=False, repr=False)
        twice: int = module.field(init=False, default=0)

        def __post_init__(self) -> None:
            object.__setattr__(self, "twice", 2 * self.number)

        @property
        def name(self) -> str:
            return f"{self.host}:{self.number}"

    Chip.__qualname__ = "Chip"
    made: type[Any] = module.dataclass(**form)(Chip)
    return made


@pytest.fixture(params=FORMS, ids=lambda form: "-".join(form) or "plain")
def form(request: pytest.FixtureRequest) -> dict[str, bool]:
    made: dict[str, bool] = request.param
    return made


@pytest.fixture(params=[0, lean.INTERPRETED], ids=["first values", "compiled"])
def both(request: pytest.FixtureRequest, form: dict[str, bool]) -> tuple[type[Any], type[Any]]:
    """The same class by each of them; ours makes its first values in another way than those after."""
    ours = _define(lean, form)
    for number in range(request.param):
        ours(number=number)
    return ours, _define(dataclasses, form)


def _outcome(act: Callable[[], Any]) -> Any:
    try:
        return act()
    except (TypeError, AttributeError) as error:
        return (
            type(error).__bases__[-1] if isinstance(error, dataclasses.FrozenInstanceError) else type(error)
        )


def _is_refused(act: Callable[[], Any]) -> bool:
    """The standard library's frozen classes with slots refuse with a TypeError that speaks of super()."""
    try:
        act()
    except (TypeError, AttributeError):
        return True
    return False


ACTS: dict[str, Callable[[type[Any]], Any]] = {
    "positional": lambda c: (c(1, "b", (2,)).name, c(1, "b", (2,)).links),
    "by name": lambda c: c(host="b", number=3).name,
    "missing": lambda c: c(),
    "unknown": lambda c: c(1, colour=2),
    "too many": lambda c: c(1, "b", (), {}, 5, 6),
    "not in the constructor": lambda c: c(1, twice=5),
    "after the constructor": lambda c: c(4).twice,
    "own dictionary": lambda c: c(1).env is c(1).env,
    "equal": lambda c: c(1) == c(1, links=(9,)),
    "different": lambda c: c(1) == c(2),
    "another class": lambda c: c(1) == (1, "a"),
    "smaller": lambda c: c(1) < c(2),
    "hash": lambda c: len({hash(each) for each in [c(1), c(1, links=(9,))]}),
    "set": lambda c: setattr(c(1), "host", "b"),
    "delete": lambda c: delattr(c(1), "host"),
    "new attribute": lambda c: _is_refused(lambda: setattr(c(1), "colour", "b")),
    "class variable": lambda c: (c.unit, c(1).unit),
    "match": lambda c: c.__match_args__,
    "copy": lambda c: copy.deepcopy(c(1, "b", env={"x": 1})).env,
    "replace": lambda c: dataclasses.replace(c(1, "b"), number=7).name,
    "fields": lambda c: [(f.name, f.init, f.repr, f.compare, f.default) for f in dataclasses.fields(c)],
    "asdict": lambda c: dataclasses.asdict(c(1, env={"x": 1})),
    "signature": lambda c: str(inspect.signature(c)),
    "dictionary": lambda c: hasattr(c(1), "__dict__"),
    "doc": lambda c: c.__doc__,
}


@pytest.mark.parametrize("act", thinned(ACTS.values(), 4), ids=ACTS)
def test_the_same_as_the_standard_library(
    both: tuple[type[Any], type[Any]], act: Callable[[type[Any]], Any]
) -> None:
    ours, theirs = both
    assert _outcome(lambda: act(ours)) == _outcome(lambda: act(theirs))


def test_the_same_text(both: tuple[type[Any], type[Any]]) -> None:
    ours, theirs = both
    if theirs.__repr__ is object.__repr__:
        assert ours.__repr__ is object.__repr__
    else:
        assert repr(ours(number=1, host="b")) == repr(theirs(number=1, host="b"))


def test_what_is_put_around_a_constructor_stays() -> None:
    @lean.dataclass(frozen=True)
    class Seen:
        number: int

    made, inner = [], Seen.__init__

    @functools.wraps(inner)
    def counted(self: Seen, *args: int, **named: int) -> None:
        inner(self, *args, **named)
        made.append(self.number)

    Seen.__init__ = counted  # type: ignore[method-assign]
    for number in range(lean.INTERPRETED + 2):
        Seen(number)
    assert made == list(range(lean.INTERPRETED + 2))
    assert str(inspect.signature(Seen)) == "(number: 'int') -> None"


def test_names_without_order() -> None:
    """Fields with and without a default in any order, where all go by name."""

    @lean.dataclass(kw_only=True)
    class Given:
        first: int = 1
        second: int

    made = Given(second=2)
    assert (made.first, [f.kw_only for f in dataclasses.fields(made)]) == (1, [True, True])


def test_a_class_that_looks_at_what_is_set_sees_the_first_values() -> None:
    @lean.dataclass()
    class Even:
        number: int

        def __setattr__(self, name: str, value: int) -> None:
            if value % 2:
                raise ValueError(f"{name} is odd")
            object.__setattr__(self, name, value)

    for _ in range(lean.INTERPRETED + 2):
        assert Even(2).number == 2
        with pytest.raises(ValueError, match="number is odd"):
            Even(3)


def test_replace_of_its_own() -> None:
    chip = _define(lean, {"frozen": True, "slots": True})(1, "b", env={"x": 1})
    changed = lean.replace(chip, number=5)
    assert (changed.number, changed.host, changed.twice, changed.env) == (5, "b", 10, {"x": 1})
    assert (chip.number, chip.twice) == (1, 2)


@lean.dataclass(frozen=True, slots=True)
class Kept:
    """At the top of a module, where pickle finds it."""

    number: int
    text: str = "x"


@lean.dataclass(slots=True)
class Base:
    """With a field of its own."""

    first: int


@lean.dataclass(slots=True)
class Derived(Base):
    """With one field more."""

    second: int = 2


def test_pickle_keeps_values() -> None:
    assert pickle.loads(pickle.dumps(Kept(3, "y"))) == Kept(3, "y")


def test_fields_are_inherited() -> None:
    assert (Derived(1).first, Derived(1).second, Base(4).first) == (1, 2, 4)
    assert Derived(1, 3) != Derived(1, 2)
    with pytest.raises(TypeError, match="first"):
        Derived()  # type: ignore[call-arg]


def test_errors_name_the_constructor() -> None:
    with pytest.raises(
        TypeError, match=r"Kept\.__init__\(\) missing 1 required positional argument: 'number'"
    ):
        Kept()  # type: ignore[call-arg]
