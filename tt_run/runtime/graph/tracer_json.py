"""A captured graph as JSON: the texts of its arguments taken apart, `Shape([2, 3])` as `{"Shape": [2, 3]}`.

Names of objects inside of others are dropped, numbers are numbers, other words are texts. Source: reference library 0.81.1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from tt_run.runtime.graph.nodes import Node

_NAME = re.compile(r"[A-Za-z_][\w:]*")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?=[,)\]}]|$)")
_WORD = re.compile(r"[^,()\[\]{}]+")
_NUMBERS_IN_BRACES = re.compile(r"\{\s*\d+(?:\s*,\s*\d+)*\s*\}")
_UNSUPPORTED = re.compile(r"\[\s*unsupported type\s*,\s*(.*?)\s*\]")


class GraphTracerUtils:
    """`ttnn.graph_tracer_utils.GraphTracerUtils`."""

    @staticmethod
    def serialize_graph(captured_graph: Sequence[Node]) -> dict[str, Any]:
        """The functions of a captured graph that have arguments, in their order: `{"content": [{"operation", "arguments"}, …]}`."""
        told = [
            GraphTracerUtils.serialize_arguments_to_json(
                (node["params"] or {}).get("name", ""), node["arguments"]
            )
            for node in captured_graph
            if node["arguments"]
        ]
        return {"content": told}

    @staticmethod
    def serialize_arguments_to_json(operation_name: str, arguments: Sequence[str]) -> dict[str, Any] | None:
        """`{"operation": name, "arguments": [{"arg0": …}, …]}`; None for a function without a name."""
        if not operation_name:
            return None
        return {
            "operation": operation_name,
            "arguments": [_argument(text, i) for i, text in enumerate(arguments)],
        }


def _argument(text: str, number: int) -> dict[str, Any]:
    unsupported = _UNSUPPORTED.fullmatch(text.strip())
    if unsupported:
        return {f"arg{number}": {"unsupported type": unsupported[1]}}
    if not text.rstrip().endswith((")", "]")):
        return {f"arg{number}": text}
    try:
        reading = _Reading(text.strip())
        value = reading.named() if _NAME.match(reading.text) else reading.value()
        reading.end()
    except ValueError as error:
        return {"UnparsedElement": {"error": error, "element_info": text}}
    return {f"arg{number}": value}


class _Reading:
    """The text of one argument, read from the front. Raises ValueError where it is no nest of names, lists and words."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0

    def named(self) -> dict[str, Any] | str:
        """`Name(…)` with its name, which only the outermost object keeps."""
        found = _NAME.match(self.text, self.place)
        if found is None or not self.text.startswith("(", found.end()):
            return self._word()
        self.place = found.end()
        return {found[0]: self._fields()}

    def value(self) -> Any:
        """What stands after `=`, a comma or a bracket."""
        self._space()
        braced = _NUMBERS_IN_BRACES.match(self.text, self.place)
        if braced is not None:
            return self._taken(braced)
        if self._at("{"):
            value, self.place = json.JSONDecoder().raw_decode(self.text, self.place)
            return value
        if self._at("["):
            return self._list()
        number = _NUMBER.match(self.text, self.place)
        if number is not None:
            return json.loads(self._taken(number))
        name = _NAME.match(self.text, self.place)
        if name is not None and self.text.startswith("(", name.end()):
            self.place = name.end()
            return self._fields()
        return self._word()

    def end(self) -> None:
        """Raises ValueError when something is left."""
        self._space()
        if self.place != len(self.text):
            raise ValueError(f"unexpected {self.text[self.place :]!r} at {self.place}")

    def _fields(self) -> Any:
        """`(a=1,b=2)` as a dictionary, `(value)` as the value, `()` as an empty dictionary."""
        self._expect("(")
        fields: dict[str, Any] = {}
        alone: list[Any] = []
        while not self._at(")"):
            name = _NAME.match(self.text, self.place)
            if name is not None and self.text.startswith("=", name.end()):
                self.place = name.end() + 1
                fields[name[0]] = self.value()
            else:
                alone.append(self.value())
            self._space()
            if not self._at(")"):
                self._expect(",")
                self._space()
        self._expect(")")
        if alone and (fields or len(alone) > 1):
            raise ValueError(f"values without names before {self.place}")
        return alone[0] if alone else fields

    def _list(self) -> list[Any]:
        self._expect("[")
        found = []
        while not self._at("]"):
            found.append(self.value())
            self._space()
            if not self._at("]"):
                self._expect(",")
                self._space()
        self._expect("]")
        return found

    def _word(self) -> str:
        found = _WORD.match(self.text, self.place)
        if found is None:
            raise ValueError(f"a value is missing at {self.place}")
        return self._taken(found).strip()

    def _taken(self, found: re.Match[str]) -> str:
        self.place = found.end()
        return found[0]

    def _at(self, sign: str) -> bool:
        return self.text.startswith(sign, self.place)

    def _expect(self, sign: str) -> None:
        if not self._at(sign):
            raise ValueError(f"{sign!r} is missing at {self.place}")
        self.place += len(sign)

    def _space(self) -> None:
        while self._at(" "):
            self.place += 1
