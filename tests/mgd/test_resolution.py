"""What is said of an end that a graph does not have."""

from __future__ import annotations

import pytest

from mgd.checking import check
from mgd.reading import loads
from tests.mgd.fixtures import mesh


@pytest.mark.parametrize(
    ("end", "message", "help"),
    [
        (
            'mesh_descriptor: "M1" mesh_id: 9',
            "this graph has no mesh with id 9",
            '"M1" has mesh_id 1, 2 here',
        ),
        (
            'mesh_descriptor: "M2" mesh_id: 9',
            "this graph has no mesh with id 9",
            "the ids of this graph are 0, 1, 2",
        ),
        (
            'mesh_descriptor: "M1" mesh_id: 1 device_id: 8',
            'device 8 is not in "M1", a 2x4 grid',
            "write a device_id from 0 to 7",
        ),
        (
            'mesh_descriptor: "M1" mesh_id: 1 device_id: -1',
            'device -1 is not in "M1", a 2x4 grid',
            "write a device_id from 0 to 7",
        ),
    ],
)
def test_an_end_that_is_not_there_says_what_is(end: str, message: str, help: str) -> None:
    text = (
        mesh(name="M0")
        + mesh(name="M1")
        + mesh(name="M2")
        + f"""graph_descriptors {{ name: "G0" type: "FABRIC"
  instances {{ mesh {{ mesh_descriptor: "M0" mesh_id: 0 }} }}
  instances {{ mesh {{ mesh_descriptor: "M1" mesh_id: 1 }} }}
  instances {{ mesh {{ mesh_descriptor: "M1" mesh_id: 2 }} }}
  connections {{ nodes {{ mesh {{ mesh_descriptor: "M0" mesh_id: 0 }} }} nodes {{ mesh {{ {end} }} }} channels {{ count: 1 }} }}
}}
top_level_instance {{ graph {{ graph_descriptor: "G0" graph_id: 0 }} }}
"""
    )
    [found] = [each for each in check(loads(text)) if each.code == "MGD022"]
    assert (found.message, found.help) == (message, help)


@pytest.mark.parametrize("device", [0, 7])
def test_the_first_and_the_last_device_are_there(device: int) -> None:
    text = (
        mesh(name="M0")
        + f"""graph_descriptors {{ name: "G0" type: "FABRIC"
  instances {{ mesh {{ mesh_descriptor: "M0" mesh_id: 0 }} }}
  instances {{ mesh {{ mesh_descriptor: "M0" mesh_id: 1 }} }}
  connections {{
    nodes {{ mesh {{ mesh_descriptor: "M0" mesh_id: 0 device_id: {device} }} }}
    nodes {{ mesh {{ mesh_descriptor: "M0" mesh_id: 1 device_id: {device} }} }}
    channels {{ count: 1 }}
  }}
}}
top_level_instance {{ graph {{ graph_descriptor: "G0" graph_id: 0 }} }}
"""
    )
    assert not [each for each in check(loads(text)) if each.is_error]


def test_an_end_of_another_kind_is_missing() -> None:
    text = (
        mesh(name="M0")
        + """graph_descriptors { name: "G0" type: "FABRIC"
  instances { mesh { mesh_descriptor: "M0" mesh_id: 0 } }
  instances { mesh { mesh_descriptor: "M0" mesh_id: 1 } }
  connections {
    nodes { mesh { mesh_descriptor: "M0" mesh_id: 0 } } nodes { graph { graph_descriptor: "M0" graph_id: 1 } } channels { count: 1 }
  }
}
top_level_instance { graph { graph_descriptor: "G0" graph_id: 0 } }
"""
    )
    [found] = check(loads(text))
    assert (found.code, found.message) == ("MGD022", '"M0" with id 1 is a mesh here, not a graph')
    assert found.help == "write mesh { … }"
