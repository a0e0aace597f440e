"""What holds for every binding file."""

from __future__ import annotations

import tempfile
from pathlib import Path

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.tt_run.sandbox import Sandbox
from tt_run.plan.model import LaunchPlan, RankPlan

DESCRIPTOR = """\
mesh_descriptors {{
  name: "M0"
  arch: WORMHOLE_B0
  device_topology {{ dims: [{rows}, {columns}] }}
  host_topology {{ dims: [{down}, {across}] }}
  channels {{ count: 2 }}
}}
top_level_instance {{ mesh {{ mesh_descriptor: "M0" mesh_id: 0 }} }}
"""

names = st.from_regex(r"[A-Z_][A-Z0-9_]{0,6}", fullmatch=True).filter(lambda name: not name.startswith("TT_"))
values = st.text(
    alphabet=st.characters(codec="utf-8", exclude_characters="\0$", exclude_categories=("Cs",)), max_size=12
)
variables = st.dictionaries(names, values, max_size=3)


def planned(entries: list[dict[str, object]], top: dict[str, object], descriptor: str) -> LaunchPlan:
    with tempfile.TemporaryDirectory() as folder:
        sandbox = Sandbox(Path(folder))
        sandbox.write("mesh.textproto", descriptor)
        document = {"rank_bindings": entries, "mesh_graph_desc_path": "mesh.textproto", **top}
        sandbox.write("rb.yaml", yaml.safe_dump(document, sort_keys=False))
        return sandbox.plan(emulate=True)


def essence(rank: RankPlan) -> tuple[object, ...]:
    """A rank without the places where its facts are written and the folder of the test."""
    outside = {
        "TT_RUN_ORIGINAL_CWD",
        "TT_METAL_HOME",
        "TT_METAL_RUNTIME_ROOT",
        "TT_MESH_GRAPH_DESC_PATH",
        "HOME",
    }
    outside |= {"PYTHONPATH", "LD_LIBRARY_PATH", "TT_METAL_CACHE", "TT_METAL_LOGS_PATH"}
    env = {name: variable.value for name, variable in rank.env.items() if name not in outside}
    return rank.rank, rank.argv, rank.mesh_id, rank.mesh_host_rank, rank.host, rank.slot, rank.devices, env


@settings(max_examples=examples(25), deadline=None)
@given(
    st.sampled_from([(1, 2), (2, 2), (2, 1), (1, 4)]),
    st.randoms(),
    st.lists(variables, min_size=4, max_size=4),
)
def test_the_order_of_entries_does_not_matter(hosts, random, envs) -> None:  # type: ignore[no-untyped-def]
    down, across = hosts
    descriptor = DESCRIPTOR.format(rows=down * 2, columns=across * 2, down=down, across=across)
    entries: list[dict[str, object]] = [
        {"rank": rank, "mesh_id": 0, "mesh_host_rank": rank, "env_overrides": envs[rank]}
        for rank in range(down * across)
    ]
    ordered = planned(entries, {}, descriptor)
    shuffled = entries[:]
    random.shuffle(shuffled)
    assert [essence(rank) for rank in planned(shuffled, {}, descriptor).ranks] == [
        essence(r) for r in ordered.ranks
    ]
    owned = [device for rank in ordered.ranks for device in rank.devices]
    assert sorted(owned) == [(row, column) for row in range(down * 2) for column in range(across * 2)]


@settings(max_examples=examples(25), deadline=None)
@given(variables, variables)
def test_values_arrive_byte_for_byte(shared: dict[str, str], own: dict[str, str]) -> None:
    descriptor = DESCRIPTOR.format(rows=2, columns=2, down=1, across=1)
    plan = planned([{"rank": 0, "mesh_id": 0, "env_overrides": own}], {"global_env": shared}, descriptor)
    env = plan.ranks[0].env
    for name, value in {**shared, **own}.items():
        assert env[name].value == value
        assert env[name].origin.startswith("env_overrides" if name in own else "global_env")
