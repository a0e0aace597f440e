"""What scripts/gen writes is what is committed, and the hand-written parts of the model follow the schema."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import pytest

from mgd import _schema, descriptor
from mgd.lean import replace
from mgd.message import Message
from tests.mgd.fixtures import ROOT


@pytest.mark.wide
def test_generated_files_are_current() -> None:
    pytest.importorskip("grpc_tools", reason="grpcio-tools is not installed (extra dev)")
    words = [sys.executable, str(ROOT / "scripts" / "gen"), "--check"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


@pytest.mark.parametrize("name", [name for name in _schema.MESSAGES if name != _schema.ROOT])
def test_a_message_class_has_the_fields_of_the_schema(name: str) -> None:
    kind = getattr(descriptor, name)
    assert kind.__match_args__ == (*(field.name for field in _schema.MESSAGES[name]), "at")
    assert kind.__doc__ and issubclass(kind, Message)


def test_the_descriptor_begins_with_the_fields_of_the_root() -> None:
    names = [field.name for field in dataclasses.fields(descriptor.Descriptor)]
    wanted = [field.name for field in _schema.MESSAGES[_schema.ROOT]]
    assert names[: len(wanted)] == wanted


def test_messages_are_immutable_values() -> None:
    one = descriptor.Channels(2, descriptor.Policy.STRICT, at=5)
    same = descriptor.Channels(count=2, policy=1)
    assert one == same and hash(one) == hash(same) and one != descriptor.Channels(3)
    assert one != (2, 1)
    assert replace(one, count=4) == descriptor.Channels(4, descriptor.Policy.STRICT)
    assert replace(one, count=4).at == 5
    with pytest.raises(AttributeError, match="Channels is immutable"):
        one.count = 3
    with pytest.raises(AttributeError, match="Channels is immutable"):
        del one.count
    assert repr(one) == "Channels(count=2, policy=<Policy.STRICT: 1>)"
