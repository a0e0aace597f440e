"""The language server: messages of the Language Server Protocol 3.17 on standard input and output, answered one after the other."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any, BinaryIO
from urllib.parse import unquote, urlsplit

from mgd.editing import answers, names

_NO_METHOD, _WRONG, _BROKEN, _FAILED, _REFUSED = -32601, -32602, -32700, -32603, -32803
_LARGEST = 64 << 20  # of one message


class Server:
    """Open texts by URI; `serve` until the client says exit or its end of the pipe closes."""

    def __init__(self, source: BinaryIO, target: BinaryIO) -> None:
        self._source = source
        self._target = target
        self._texts: dict[str, str] = {}
        self._shut_down = False

    def serve(self) -> int:
        """The exit code: 0 when the client asked for the end before it came."""
        while (message := self._receive()) is not None:
            method = message.get("method", "")
            if method == "exit":
                return 0 if self._shut_down else 1
            if method.startswith("textDocument/did"):
                with suppress(KeyError, IndexError, TypeError, AttributeError):  # nobody waits for an answer
                    self._changed(method.removeprefix("textDocument/"), message["params"])
            elif "id" in message and method:
                self._answer(message["id"], method, message.get("params") or {})
        return 0 if self._shut_down else 1

    def _answer(self, number: object, method: str, params: dict[str, Any]) -> None:
        if method not in _METHODS:
            self._send(id=number, error={"code": _NO_METHOD, "message": f"{method}: there is no such method"})
            return
        try:
            found = self._result(method, params)
        except names.NoName as error:
            self._send(id=number, error={"code": _REFUSED, "message": str(error)})
        except (KeyError, TypeError, AttributeError) as error:
            told = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            self._send(id=number, error={"code": _WRONG, "message": f"{method}: its parameters: {told}"})
        except Exception as error:
            self._send(id=number, error={"code": _FAILED, "message": f"{method}: {error}"})
        else:
            self._send(id=number, result=found)

    def _result(self, method: str, params: dict[str, Any]) -> Any:
        if method == "initialize":
            return {"capabilities": _CAPABILITIES, "serverInfo": {"name": "mgd"}}
        if method == "shutdown":
            self._shut_down = True
            return None
        uri = params["textDocument"]["uri"]
        if uri not in self._texts:
            raise TypeError(f"{uri} is not open")
        text = self._texts[uri]
        if method == "textDocument/hover":
            told = answers.explanation(text, params["position"], _name(uri), _is_yaml(uri))
            return {"contents": {"kind": "markdown", "value": told}} if told else None
        if _is_yaml(uri):
            return None if method.endswith("ename") else []
        return _ABOUT_TEXT[method](text, uri, params)

    def _changed(self, event: str, params: dict[str, Any]) -> None:
        document = params.get("textDocument", {})
        uri = document.get("uri", "")
        if event == "didOpen":
            self._texts[uri] = document["text"]
        elif event == "didChange":
            self._texts[uri] = params["contentChanges"][-1]["text"]
        elif event == "didClose":
            self._texts.pop(uri, None)
        found = (
            answers.diagnostics(self._texts[uri], uri, _name(uri), _is_yaml(uri))
            if uri in self._texts
            else []
        )
        self._send(method="textDocument/publishDiagnostics", params={"uri": uri, "diagnostics": found})

    def _receive(self) -> dict[str, Any] | None:
        """The next message; None at the end of the input or where its framing is lost."""
        length = 0
        while (line := self._source.readline()) not in (b"\r\n", b"\n"):
            if not line:
                return None
            name, _, value = line.partition(b":")
            if name.strip().lower() == b"content-length" and value.strip().isdigit():
                length = int(value)
        data = self._source.read(length) if 0 < length <= _LARGEST else b""
        try:
            message = json.loads(data)
        except ValueError:
            self._send(id=None, error={"code": _BROKEN, "message": "this is no message"})
            return {} if data else None
        return message if isinstance(message, dict) else {}

    def _send(self, **message: Any) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._target.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        self._target.flush()


_ABOUT_TEXT: dict[str, Callable[[str, str, dict[str, Any]], Any]] = {
    "textDocument/completion": lambda text, _, asked: answers.completions(text, asked["position"]),
    "textDocument/formatting": lambda text, *_: answers.laid_out(text),
    "textDocument/codeAction": lambda text, uri, _: answers.repairs(text, uri),
    "textDocument/definition": lambda text, uri, asked: names.definition(text, uri, asked["position"]),
    "textDocument/references": lambda text, uri, asked: names.references(
        text, uri, asked["position"], and_definition=asked["context"]["includeDeclaration"]
    ),
    "textDocument/documentHighlight": lambda text, uri, asked: names.references(
        text, uri, asked["position"], and_definition=True
    ),
    "textDocument/documentSymbol": lambda text, *_: names.symbols(text),
    "textDocument/prepareRename": lambda text, uri, asked: names.renameable(text, uri, asked["position"]),
    "textDocument/rename": lambda text, uri, asked: names.renamed(
        text, uri, asked["position"], asked["newName"]
    ),
}
_METHODS = ("initialize", "shutdown", "textDocument/hover", *_ABOUT_TEXT)
_CAPABILITIES = {
    "positionEncoding": "utf-16",
    "textDocumentSync": {"openClose": True, "change": 1},
    "hoverProvider": True,
    "completionProvider": {"triggerCharacters": ["{", ":", " ", '"']},
    "definitionProvider": True,
    "referencesProvider": True,
    "documentHighlightProvider": True,
    "documentSymbolProvider": True,
    "renameProvider": {"prepareProvider": True},
    "documentFormattingProvider": True,
    "codeActionProvider": {"codeActionKinds": ["quickfix"]},
}


def _name(uri: str) -> str:
    """The path of a file's URI, the URI itself for anything else."""
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme == "file" else uri


def _is_yaml(uri: str) -> bool:
    return uri.endswith((".yaml", ".yml"))
