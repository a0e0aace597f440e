"""What is read from captures of other machines: functions with and without records, what never ended, buffers and their pages."""

from __future__ import annotations

from typing import Any

from tt_run.runtime.graph.database.buffers import Pages, chunks
from tt_run.runtime.graph.database.operations import Operation, operations

Node = dict[str, Any]


def graph(*nodes: tuple[str, dict[str, Any]]) -> list[Node]:
    """Nodes by kind and what they say, of which `into` and `out` are the numbers of tensors that go in or come out."""
    return [
        {
            "counter": number,
            "node_type": kind,
            "params": {
                key: value for key, value in said.items() if key not in ("into", "out", "arguments", "ns")
            },
            "input_tensors": said.get("into", []),
            "connections": said.get("out", []),
            "arguments": said.get("arguments", []),
            "duration_ns": said.get("ns", 0),
        }
        for number, (kind, said) in enumerate(nodes)
    ]


def start(name: str, *into: int, **more: Any) -> tuple[str, dict[str, Any]]:
    return "function_start", {"name": name, "into": list(into), **more}


def end(name: str, *out: int, **more: Any) -> tuple[str, dict[str, Any]]:
    return "function_end", {"name": name, "out": list(out), **more}


def tensor(number: int, **more: Any) -> tuple[str, dict[str, Any]]:
    return "tensor", {"tensor_id": str(number), **more}


def allocate(address: int, layout: str = "INTERLEAVED") -> tuple[str, dict[str, Any]]:
    return "buffer_allocate", {
        "address": address,
        "device_id": 0,
        "size": 64,
        "buffer_type": 1,
        "layout": layout,
    }


def names(found: list[Operation]) -> list[str]:
    return [each.name for each in found]


def test_an_operation_takes_what_its_functions_take_and_gives_what_none_of_them_uses() -> None:
    found = list(
        operations(
            graph(
                ("capture_start", {}),
                tensor(10),
                start("ttnn.linear", arguments=["a", "b"]),
                start("MatmulDeviceOperation", 1),
                end("MatmulDeviceOperation", 5),
                tensor(11),
                start("BinaryNgDeviceOperation", 5),
                end("BinaryNgDeviceOperation", 8),
                tensor(12),
                end("ttnn.linear", ns=2_000),
                ("capture_end", {}),
            )
        )
    )
    assert names(found) == ["ttnn.linear"]
    linear = found[0]
    assert (linear.inputs, linear.outputs) == ([10], [12])  # 11 only passes between them
    assert linear.arguments == [("arg_0", "a"), ("arg_1", "b")] and linear.seconds == 2e-6
    assert (linear.id, linear.start, linear.end, linear.error) == (1, 2, 9, None)


def test_weights_that_are_sent_first_and_functions_that_carry_are_not_told() -> None:
    found = operations(
        graph(
            start("ttnn.from_torch"),
            end("ttnn.from_torch"),
            start("Tensor::to_device"),
            start("ttnn.tilize"),
            end("ttnn.tilize"),
            end("Tensor::to_device"),
            start("ttnn.from_torch"),
            end("ttnn.from_torch"),
        ),
        first=101,
    )
    assert [(each.id, each.name) for each in found] == [(101, "ttnn.tilize"), (102, "ttnn.from_torch")]


def test_calls_are_joined_by_name_and_order() -> None:
    records = [
        {"name": "ttnn.relu", "arguments": {"0": "x"}, "input_tensor_ids": [4, 4], "output_tensor_ids": [5]},
        {"name": "ttnn.relu", "input_tensor_ids": [5], "error": {"type": "RuntimeError", "message": "no"}},
    ]
    found = list(
        operations(graph(start("ttnn.relu"), end("ttnn.relu"), start("ttnn.relu"), end("ttnn.relu")), records)
    )
    assert [each.inputs for each in found] == [[4], [5]] and found[0].outputs == [5]
    assert found[0].arguments == [("0", "x")] and found[0].error is None
    assert found[1].error == ("RuntimeError", "no")


def test_what_was_left_by_an_exception_or_never_ended_has_an_error() -> None:
    left, never = operations(
        graph(
            start("ttnn.add"),
            start("BinaryNgDeviceOperation"),
            end("BinaryNgDeviceOperation", aborted="true", abort_reason="shapes differ"),
            end("ttnn.add", aborted="true"),
            start("ttnn.matmul"),
        )
    )
    assert left.error == ("aborted_operation", "Operation 'ttnn.add' was aborted by an exception")
    assert never.error == (
        "incomplete_operation",
        "Operation 'ttnn.matmul' started but never completed (likely crashed)",
    )
    (said,) = operations(
        graph(
            start("ttnn.add"),
            ("error", {"error_type": "TT_FATAL", "error_message": "no room"}),
            end("ttnn.add"),
        )
    )
    assert said.error == ("TT_FATAL", "no room")


def test_buffers_live_until_they_are_freed() -> None:
    found = list(
        operations(
            graph(
                tensor(7, address=32),
                start("ttnn.relu"),
                allocate(32, "HEIGHT_SHARDED"),
                allocate(64),
                end("ttnn.relu"),
                ("buffer_deallocate", {"address": 32, "device_id": 0, "buffer_type": 1}),
                start("ttnn.deallocate"),
                ("buffer_deallocate", {"device_id": 0, "buffer_type": 1, "out": [3]}),
                end("ttnn.deallocate"),
            )
        )
    )
    assert names(found) == ["ttnn.relu", "ttnn::deallocate", "ttnn.deallocate"]
    assert [[(b.address, b.layout) for b in each.buffers] for each in found] == [
        [(32, 2), (64, 0)],
        [(64, 0)],
        [],
    ]
    assert found[1].inputs == [7]


def test_captures_that_name_a_memory_alone_are_read() -> None:
    named = [
        ("buffer_allocate", {"address": 8 * n, "type": word})
        for n, word in enumerate(("DRAM", "L1", "L1_SMALL"))
    ]
    (found,) = operations(graph(start("ttnn.relu"), *named, end("ttnn.relu")))
    assert [(b.address, b.kind) for b in found.buffers] == [(0, 0), (8, 1), (16, 3)]


def test_what_a_device_told_of_its_buffers_comes_first() -> None:
    told = {
        "0": [{"device_id": 0, "address": 96, "max_size_per_bank": 8, "buffer_type": 1, "buffer_layout": 4}]
    }
    (found,) = operations(graph(start("ttnn.relu"), allocate(32), end("ttnn.relu")), snapshots=told)
    assert [(b.address, b.size, b.layout) for b in found.buffers] == [(96, 8, 4)]


def test_pages_of_an_address_are_those_of_the_buffer_that_lay_there_then() -> None:
    def page(at: int, core: int) -> dict[str, int]:
        return {
            "address": 32,
            "page_address": at,
            "page_size": 16,
            "core_x": core,
            "bank_id": core,
            "buffer_type": 1,
        }

    pages = Pages(
        {
            "32": [
                {"alloc_counter": 9, "pages": [page(32, 3)]},
                {"alloc_counter": 2, "pages": [page(32, 1), page(48, 1)]},
            ]
        }
    )
    assert [len(pages.at(32, node)) for node in (1, 2, 8, 9)] == [2, 2, 2, 1] and not pages.at(64, 9)
    assert chunks(5, pages.at(32, 4), rank=1) == [(5, 0, 32, 1, 1, 0, 32, 32, 16, 2, 1, 1)]
