"""Rules on the text itself: what the format's syntax and the schema's types ask for."""

from __future__ import annotations

from mgd.catalogue import Rule
from mgd.diagnostics import Severity

_WARNING = Severity.WARNING

RULES = (
    Rule(
        "MGD100", "unexpected token",
        "Fields are `name: value` or `name { … }`; comments begin with #.",
        "What follows can't be read with certainty.",
        'name = "M0"  // comment',
        'name: "M0"  # comment',
        source="protobuf's text format and the reference's parser",
    ),
    Rule(
        "MGD101", "unreadable file",
        "The file is there, is a file, may be read, and has at most 16 MiB.",
        "Nothing can be said about it.",
        "mgd check no-such-file.textproto",
        "mgd check t3k.textproto",
    ),
    Rule(
        "MGD102", "not plain text",
        "The file is plain text without byte order mark and without NUL bytes.",
        "The reference refuses both.",
        "a file saved as UTF-8 with BOM",
        "the same saved as UTF-8",
        source="protobuf's text format and the reference's parser",
    ),
    Rule(
        "MGD103", "invalid utf8",
        "The text is UTF-8.",
        "The reference logs other bytes and goes on; names with them may not be found again.",
        'name: "M\\xff"',
        'name: "M0"',
        _WARNING, source="protobuf's text format and the reference's parser",
    ),
    Rule(
        "MGD104", "wrong value type",
        "A value is of its field's type: an integer, a quoted string, true or false, an enum name, a message in braces.",
        "Text format converts nothing.",
        'count: "2"',
        "count: 2",
        source="protobuf's text format and the reference's parser",
    ),
    Rule(
        "MGD105", "number out of range",
        "A number fits its field.",
        "Ids and counts are 32-bit; unsigned ones aren't negative.",
        "mesh_id: 4294967296",
        "mesh_id: 0",
        source="protobuf's text format and the reference's parser",
    ),
    Rule(
        "MGD106", "unknown enum name",
        "An enum value is one of the schema's names, in their exact case.",
        "An unknown name is a syntax error in text format.",
        "arch: blackhole",
        "arch: BLACKHOLE",
        source="protobuf's text format and the reference's parser",
    ),
    Rule(
        "MGD107", "field given twice",
        "A field that isn't repeated is written once.",
        "There is no merging: one of the two would be lost.",
        "arch: BLACKHOLE arch: BLACKHOLE",
        "arch: BLACKHOLE",
        source="protobuf's text format and the reference's parser",
    ),
    Rule(
        "MGD108", "list for one value",
        "Only repeated fields take a list in square brackets.",
        "The field holds one value.",
        "mesh_id: [ 0 ]",
        "mesh_id: 0",
        source="protobuf's text format and the reference's parser",
    ),
    Rule(
        "MGD109", "unknown field",
        "Fields are those of the schema, in their exact case.",
        "The reference skips an unknown one without a word: a typo silently leaves the default in force.",
        "host_topolgy { dims: [ 1, 1 ] }",
        "host_topology { dims: [ 1, 1 ] }",
        _WARNING, fixable=True, source="protobuf's text format and the reference's parser",
    ),
    Rule(
        "MGD110", "nested too deep",
        "Blocks are nested at most 200 deep.",
        "No real descriptor comes near; a deeper one can exhaust a parser's stack.",
        "a { a { a { … } } }",
        'graph { … sub_ref { mesh { … } } }',
    ),
    Rule(
        "MGD111", "block not closed",
        "Every block is closed.",
        "All that follows lands inside it.",
        "channels { count: 2",
        "channels { count: 2 }",
        source="protobuf's text format and the reference's parser",
    ),
    Rule(
        "MGD112", "malformed string",
        "A string closes on its line and uses C escapes.",
        "Text behind it would be read as part of it.",
        'name: "M0',
        'name: "M0"',
        source="protobuf's text format and the reference's parser",
    ),
    Rule(
        "MGD113", "field of an older schema",
        "Fields have their present names.",
        "The reference skips the old ones: `types` turns every dimension into a LINE, a mesh inside a graph reference becomes the whole graph.",
        "device_topology { dims: [ 8, 4 ] types: [ RING, RING ] }",
        "device_topology { dims: [ 8, 4 ] dim_types: [ RING, RING ] }",
        _WARNING, fixable=True, source="the schema",
    ),
    Rule(
        "MGD114", "two references in one node",
        "A node holds one of mesh, switch and graph.",
        "It can't be two things.",
        "nodes { mesh { … } graph { … } }",
        "nodes { mesh { … } }",
        source="protobuf's text format and the reference's parser",
    ),
)  # fmt: skip
