"""To and from protobuf messages, for programs that exchange descriptors in binary; imports protobuf."""

from __future__ import annotations

from typing import Any

from mgd import _schema, descriptor
from mgd.descriptor import Descriptor


def to_protobuf(value: Descriptor) -> Any:
    """The descriptor as a `tt.tt_fabric.proto.MeshGraphDescriptor` message; the file it came from is left behind."""
    from mgd import proto_pb2

    return _message(_schema.ROOT, value, proto_pb2)


def from_protobuf(message: Any) -> Descriptor:
    """The descriptor of a `MeshGraphDescriptor` message."""
    value = _value(_schema.ROOT, message)
    assert isinstance(value, Descriptor)
    return value


def _message(name: str, value: Any, module: Any) -> Any:
    made = getattr(module, name)()
    for field in _schema.MESSAGES[name]:
        written = getattr(value, field.name)
        if field.kind != "message":
            if field.repeated:
                getattr(made, field.name).extend(map(int, written))
            elif written is not None:
                setattr(made, field.name, int(written) if field.kind == "enum" else written)
        elif field.repeated:
            getattr(made, field.name).extend(_message(str(field.type), each, module) for each in written)
        elif written is not None:
            getattr(made, field.name).CopyFrom(_message(str(field.type), written, module))
            getattr(made, field.name).SetInParent()
    return made


def _value(name: str, message: Any) -> Any:
    values: list[Any] = []
    for field in _schema.MESSAGES[name]:
        written = getattr(message, field.name)
        if field.repeated:
            values.append(tuple(_single(field, each) for each in written))
        elif (field.kind == "message" or field.optional) and not message.HasField(field.name):
            values.append(None)
        else:
            values.append(_single(field, written))
    return getattr(descriptor, "Descriptor" if name == _schema.ROOT else name)(*values)


def _single(field: _schema.SchemaField, written: Any) -> Any:
    if field.kind == "message":
        return _value(str(field.type), written)
    if isinstance(field.type, str):
        return written
    return field.type(written) if written in set(field.type) else int(written)
