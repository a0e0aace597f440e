"""Which small changes of logic there are in a file, and the file with one of them made.

A comparison, a number, an operator, `and` for `or`, True for False, `not` left out, a branch that is never or always taken, `break` that
returns. Changed is what stands in functions, decorated ones and the defaults of their arguments too; not annotations, decorators,
what runs when a module is imported, and `strict=` of zip, which stands for what the author knows.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div, ast.Mod: ast.Div,
    ast.Pow: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd, ast.MatMult: ast.Mult,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.And: ast.Or, ast.Or: ast.And, ast.UAdd: ast.USub, ast.USub: ast.UAdd,
}  # fmt: skip
_SHOWN = 110  # characters of an expression that says what has changed


@dataclass(frozen=True)
class Change:
    """One change: the `variant`-th way to change the `node`-th node of a file, and the lines whose tests may notice."""

    file: str
    node: int
    variant: int
    function: str
    lines: tuple[int, int]
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.file} {self.function}: `{self.old}` -> `{self.new}`"


def changes_of(root: Path, file: str) -> Iterator[Change]:
    """Every change of a file's functions, in the order of its lines."""
    tree = ast.parse((root / file).read_text(encoding="utf-8"))
    numbers = {id(node): number for number, node in enumerate(ast.walk(tree))}

    def below(node: ast.AST, above: list[ast.AST], function: list[str]) -> Iterator[Change]:
        if function:
            for variant in range(_ways(node)):
                shown = _shown(node, above)
                old, new = ast.unparse(shown), ast.unparse(_changed_copy(shown, node, variant))
                if old != new:
                    name = ".".join(function)
                    yield Change(
                        file, numbers[id(node)], variant, name, _lines(node, above), _cut(old), _cut(new)
                    )
        for child in _mutable(node):
            named = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
            inside = (
                [*function, child.name]
                if named and (function or not isinstance(child, ast.ClassDef))
                else function
            )
            if isinstance(child, ast.ClassDef) and not function:
                for part in child.body:
                    if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)):
                        yield from below(part, [child, part], [child.name, part.name])
            else:
                yield from below(child, [*above, child], inside)

    yield from below(tree, [tree], [])


def changed(root: Path, change: Change) -> ast.Module:
    """The file with the change made."""
    tree = ast.parse((root / change.file).read_text(encoding="utf-8"))
    node = list(ast.walk(tree))[change.node]
    _make(node, change.variant)
    return ast.fix_missing_locations(tree)


def _mutable(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a node in which something may be changed."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases", "keywords") and not isinstance(
            node, ast.Call
        ):
            continue
        if isinstance(node, ast.keyword) and node.arg == "strict":
            continue
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST) and not isinstance(part, ast.expr_context):
                yield part


def _ways(node: ast.AST) -> int:
    if isinstance(node, ast.Constant):
        return int(type(node.value) in (bool, int, float))
    if isinstance(node, ast.UnaryOp):
        return int(not isinstance(node.op, ast.Invert))
    if isinstance(node, (ast.BinOp, ast.BoolOp)):
        return 1
    if isinstance(node, ast.AugAssign):
        return 2
    if isinstance(node, ast.Compare):
        return len(node.ops)
    if isinstance(node, ast.IfExp):
        return 2
    if isinstance(node, ast.If):  # a test with an operator is changed there
        return int(isinstance(node.test, (ast.Name, ast.Attribute, ast.Call)))
    return int(isinstance(node, (ast.Break, ast.Continue)))


def _make(node: ast.AST, variant: int) -> None:
    """Change a node where it stands."""
    if isinstance(node, ast.Constant):
        assert isinstance(node.value, (bool, int, float))
        node.value = not node.value if isinstance(node.value, bool) else node.value + 1
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        node.operand = ast.UnaryOp(ast.Not(), node.operand)
    elif isinstance(node, ast.Compare):
        node.ops[variant] = _OPERATORS[type(node.ops[variant])]()  # type: ignore[assignment]
    elif isinstance(node, ast.AugAssign) and variant:
        node.__class__ = ast.Assign  # type: ignore[assignment]
        node.targets = [node.target]  # type: ignore[attr-defined]
    elif isinstance(node, (ast.UnaryOp, ast.BinOp, ast.BoolOp, ast.AugAssign)):
        node.op = _OPERATORS[type(node.op)]()  # type: ignore[assignment]
    elif isinstance(node, (ast.IfExp, ast.If)):
        constant = ast.Constant(bool(variant))
        node.test = ast.BoolOp(ast.Or() if variant else ast.And(), [node.test, constant])
    elif isinstance(node, ast.Break):
        node.__class__ = ast.Return  # type: ignore[assignment]
        node.value = None  # type: ignore[attr-defined]
    else:
        node.__class__ = ast.Break  # type: ignore[assignment]


def _shown(node: ast.AST, above: list[ast.AST]) -> ast.AST:
    """The largest expression around a node that is short enough to be shown, or its statement where that is short."""
    shown = node
    for outer in reversed(above[:-1]):
        if not isinstance(
            outer, (ast.expr, ast.comprehension, ast.keyword, ast.Assign, ast.Return, ast.AugAssign, ast.Expr)
        ):
            break
        if isinstance(outer, (ast.comprehension, ast.FormattedValue)):
            continue
        if len(ast.unparse(outer)) > _SHOWN:
            break
        shown = outer
    return shown


def _changed_copy(shown: ast.AST, node: ast.AST, variant: int) -> ast.AST:
    memo: dict[int, object] = {}
    result = copy.deepcopy(shown, memo)
    _make(memo[id(node)], variant)  # type: ignore[arg-type]
    return ast.fix_missing_locations(result)


def _cut(text: str) -> str:
    """One line; of a statement with a body its first."""
    return text.splitlines()[0]


def _lines(node: ast.AST, above: list[ast.AST]) -> tuple[int, int]:
    """The lines of the statement that a node stands in, those of its head where it has a body."""
    statement = next((each for each in reversed(above) if isinstance(each, ast.stmt)), node)
    first, last = statement.lineno, statement.end_lineno or statement.lineno  # type: ignore[attr-defined]
    body = getattr(statement, "body", None)
    if isinstance(
        statement, (ast.FunctionDef, ast.AsyncFunctionDef)
    ):  # a default: whatever runs the function may tell
        pass
    elif isinstance(body, list) and body and node is not statement:
        last = max(first, body[0].lineno - 1)
    elif isinstance(body, list):
        last = first
    return first, last
