"""Functions that a module calls before and after its forward pass, where it is called by `call_with_hooks`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Hook = Callable[..., object]


class Hooked:
    """Keeps hooks by number, and calls them in the order in which they came."""

    def register_pre_forward_hook(self, hook: Hook) -> int:
        """Have `hook(module, input)` called ahead of a forward pass; the number takes it away again."""
        return self._add("before", hook)

    def register_post_forward_hook(self, hook: Hook) -> int:
        """Have `hook(module, input, output)` called after a forward pass; the number takes it away again."""
        return self._add("after", hook)

    def remove_pre_forward_hook(self, handle: int) -> None:
        """Forget a hook. Raises KeyError for a number of none."""
        self._take_away("before", handle)

    def remove_post_forward_hook(self, handle: int) -> None:
        """Forget a hook. Raises KeyError for a number of none."""
        self._take_away("after", handle)

    def has_pre_forward_hooks(self) -> bool:
        """Whether anything is called ahead of a forward pass."""
        return bool(self._hooks("before"))

    def has_post_forward_hooks(self) -> bool:
        """Whether anything is called after a forward pass."""
        return bool(self._hooks("after"))

    def clear_all_hooks(self) -> None:
        """Forget all hooks."""
        self._hooks("before").clear()
        self._hooks("after").clear()

    def call_with_hooks(self, tensor: Any, *others: Any) -> Any:
        """The module's result for a tensor, and other arguments, with all hooks around it."""
        for hook in list(self._hooks("before").values()):
            hook(self, tensor)
        out = self(tensor, *others)  # type: ignore[operator]
        for hook in list(self._hooks("after").values()):
            hook(self, tensor, out)
        return out

    def _hooks(self, when: str) -> dict[int, Hook]:
        found: dict[int, Hook] = self.__dict__.setdefault(f"_hooks_{when}", {})
        return found

    def _add(self, when: str, hook: Hook) -> int:
        number = self.__dict__.get("_hooks_made", 0) + 1
        self.__dict__["_hooks_made"] = number
        self._hooks(when)[number] = hook
        return number

    def _take_away(self, when: str, handle: int) -> None:
        if handle not in self._hooks(when):
            raise KeyError(f"no hook has the number {handle}; help: the number that registering one gave")
        del self._hooks(when)[handle]
