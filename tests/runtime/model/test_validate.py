"""The command: scores in JSON and as a table, one-sided bounds, reasons for what is not covered, calibration that moves only what it may."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.sweep import sweep
from tt_run.hardware.files import load, shipped
from tt_run.runtime.model.validation import validate
from tt_run.runtime.model.validation.leave_out import WAYS
from tt_run.runtime.model.validation.points import COLUMNS, Point, read
from tt_run.runtime.model.validation.questions import question
from tt_run.runtime.model.validation.validate import Request, run

ROWS = [
    "matmul|matmul trace=True|2048x2048x2048 DRAM/DRAM/DRAM|BFLOAT16 HiFi2|WH|1 N150|(8, 8)|299|us|measured",
    "fabric_bw|NeighborExchangeUnicast/CHIP_UNICAST/NOC_UNICAST_WRITE|packet 4096 B|-|BH|4 (p150x4)"
    "|NeighborExchange links=2|38.4|GB/s|measured golden",
    "fabric_latency|LatencyLinearUnicast/NOC_UNICAST_WRITE dev0->dev1|payload 16 B|-|WH|8 (T3K)"
    "|Linear links=1|1602|ns net round trip (per hop 801)|measured",
    "ccl|reduce_scatter_minimal_async|[1,1,8192,2048] prefill|see test|WH 6U|ring in 8x4 mesh|Ring|950|us|CI upper bound",
    "ccl|reduce_scatter_minimal_async|[2,8,512,1024]|bf16 TILE DRAM|WH|8|Ring new algorithm|896.7|us|measured",
    "op_in_model|decoder:Matmul_2 (FF2_MM)|Llama-70B TP32 decode batch 32|-|WH 6U|32|8x4 mesh|13.973|us kernel|CI target",
    "e2e|Llama-3.1-70B TP8|batch 32|-|WH QuietBox|8|-|15.1 t/s/u; 483.2 t/s||published",
    "ccl|all_to_all_combine|MoE decode|bf16|WH T3K|8|-|92-105|us|CI band",
    "e2e|Whisper (distil-large-v3)|batch 1|-|n150|n150|-|ttft 200 ms||published",
    "ccl|all_gather_async|[1,1,,32]|bf16|WH|8|Ring|3|us|measured",
    "shuffle|riffle|-|-|WH|1|-|3|us|measured",
]


def table(tmp_path: Path, rows: list[str], separator: str = "\t") -> Path:
    path = tmp_path / ("points.tsv" if separator == "\t" else "points.csv")
    lines = [separator.join(COLUMNS)]
    lines += [separator.join(f'"{c}"' for c in row.split("|")) for row in rows]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_json_is_one_object_per_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(Request(points=table(tmp_path, ROWS), format="json")) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(found) == len(ROWS)
    for one in found[:8]:
        assert abs(one["error"]) < 0.2, one
        assert one["measured"] > 0
        assert one["part"] in ("calibration", "held-out")
    assert found[3]["error"] == 0  # below the bound
    assert found[3]["predicted"] < 950
    assert found[6]["unit"] == "t/s/u"
    assert found[7]["measured"] == 98.5
    assert "how its prompts are worked through is not modelled" in found[8]["not_covered"]
    assert "no shape in" in found[9]["not_covered"]
    assert "no model of kind 'shuffle'" in found[10]["not_covered"]


def test_a_row_with_a_speed_and_a_time_to_the_first_token_is_scored_for_both(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        f"e2e|Llama 3.1 8B|batch 32 ISL {tokens}|-|p150|p150|-|ttft 57* ms; 33.1* t/s/u; 1059.2* t/s||published"
        for tokens in (128, 1024, 8192)
    ]
    assert run(Request(points=table(tmp_path, rows), format="json")) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["unit"] for one in found] == ["t/s/u"] * 3
    short, longer, longest = (one["first_token"]["predicted"] for one in found)
    assert found[0]["first_token"]["measured"] == 57
    assert short == pytest.approx(57, rel=0.2)
    assert short < longer < longest / 4  # arithmetic, and attention's square
    assert run(Request(points=table(tmp_path, rows[:1]))) == 0
    assert "times to the first token" in capsys.readouterr().out


# The same measurements in other words and units: how they are written, and what the prediction must be near to, in the row's unit.
SPELLED = [
    ("matmul|ttnn.matmul traced|2048 x 2048 x 2048|bf16 HiFi2|Wormhole|1 n150|8x8|0.299|ms|measured", 0.299),
    (
        "fabric_bw|NeighborExchangeUnicast/CHIP_UNICAST/NOC_UNICAST_WRITE|packet 4 KiB|-|Blackhole|4 (p150x4)|links=2|307|Gb/s|",
        307,
    ),
    (
        "fabric_latency|LatencyLinearUnicast/NOC_UNICAST_WRITE dev0->dev1|payload 16 B|-|WH|8 (T3K)|-|1.602|us|",
        1.602,
    ),
    (
        "ccl|reduce_scatter_minimal_async|[2,8,512,1024]|bfloat16|wormhole_b0|8|Ring|0.8967|ms|measured",
        0.8967,
    ),
    ("matmul|matmul|2048^3|bf16|WH|n150|8x8|57.4|TFLOPS|", 57.4),
    ("matmul|matmul|m=2048, k=2048, n=2048|bfloat16 x bfloat16 HiFi2|WH|n150|-|299|us|", 299),
    ("matmul|linear|[1,1,2048,2048] x [2048,2048]|bf16|WH|n150|-|299|us|", 299),
    ("ccl|ReduceScatter|16 MiB|-|WH|1x8|torus|897|us|", 897),
    ("ccl|reduce_scatter|[2,8,512,1024]|bf16|WH|8x4 mesh axis 0|Ring 1 links|897|us|", 897),
    ("op|ttnn.linear|[1,1,2048,2048] x [2048,2048]|bf16|WH|n150|-|299|us|", 299),
    ("op|LayerNormDeviceOperation|[1,1,2048,2048]|bf16 DRAM|WH|n150|-|90|us|", 90),
    ("op|ttnn.add|1x1x2048x2048|bf16|WH|n150|-|136|us|", 136),
    (
        "fabric_bw|HalfRingUnicast/CHIP_UNICAST/NOC_UNICAST_WRITE|packet 4 KB|-|WH|32 (galaxy)|Ring|8.9|GB/s|",
        8.9,
    ),
    ("e2e|Llama 3.1 70B (TP=8)|batch 32|-|Wormhole|QuietBox|-|483.2|tokens/s|published", 483.2),
    ("e2e|Llama 3.1 70B (TP=8)|batch 32|-|Wormhole|QuietBox|-|66.2|ms/token|published", 66.2),
    ("e2e|Llama-3.1-70B TP8xDP4|batch 128|-|WH Galaxy|32|-|14.3 t/s/u; 1,835.5 t/s||published", 14.3),
    ("e2e|Llama 3.1 8B|batch 32 ISL 128|-|n150|n150|-|ttft 104 ms||", 104),
    ("e2e|Llama 3.2 1B|batch 32|-|n150|n150|-|TTFT: 0.023 S||", 0.023),
    ("training|tt-train TinyLlama|batch 5 seq 2048|bf16|BH p150|1|-|1.58|s/step|measured", 1.58),
    ("training|tt-train TinyLlama|shipped yaml|bf16|BH p150|1|-|6476 tok/s||measured", 6476),
    ("training|TinyLlama|shipped yaml|bf16|BH p150|1|-|1581|ms/step|measured", 1581),
    ("training|TinyLlama|batch 5|bf16|BH p150|1|-|0.632|it/s|", 0.632),
    ("matmul|matmul|M2048 K2048 N2048|bf16|WH n150|1|-|299|us|", 299),
    ("matmul|matmul|(2048, 2048, 2048)|BFLOAT16 HiFi2|WH|1 N150|(8, 8)|299|us|", 299),
    ("matmul|matmul|2,048 x 2k x 2k, 8x8 cores|bf16|WH|n150|8x8|299|us|", 299),
    ("matmul|matmul|1024x1024x1024, 8x8 grid|bf16|WH|n150|-|66|us|", 66),
    ("matmul|matmul|2048^3|bf16|WH|n150|8x8|43|% util|", 43),
    # A batch of both operands is shared over the cores: 256 products of 128 x 64 x 128 in DRAM.
    ("matmul|bmm|8x32x128x64 x 8x32x64x128|bf16|WH|1|-|96|us|", 96),
    ("ccl|reduce_scatter|[2,8,512,1024]|bf16|WH|4U galaxy 8x4 cluster_axis=0|Ring num_links=1|897|us|", 897),
    ("ccl|llama rs_create_heads|decode|bfp8|WH|4 in row|Line|10|us|", 10),
    ("ccl|all_to_all_dispatch|tokens 8 hidden 7168|bf16|WH|8|Line|118|us|", 118),
    ("op|ttnn.reduce_scatter|[2,8,512,1024]|bf16|WH|8|Ring|897|us|", 897),
    ("op|ttnn.experimental.nlp_create_qkv_heads|[1,1,4096,1280]|bfp8|WH|1|-|79|us|", 79),
    ("op|conv2d|[1,64,56,56] x [128,64,3,3]|bf16|WH|1|-|127|us|", 127),
    (
        "op_in_model|prefill:Matmul_0 (QKV_MM)|Llama-70B TP32 prefill 2048 tokens|-|WH 6U|32|8x4 mesh|220|us|",
        220,
    ),
    ("fabric_bw|NeighborExchangeUnicast/CHIP_UNICAST/NOC_UNICAST_WRITE|4096|-|BH|4x p150|-|38.4|GB/s|", 38.4),
    (
        "fabric_latency|LatencyLinearUnicast/NOC_UNICAST_WRITE|payload 16 B 7 hops|-|WH|8 (T3K)|-|11362|ns|",
        11362,
    ),
    ("constant|1 KB packet hop|-|-|BH|-|-|710|ns|", 710),
    ("constant|Tensix clock|-|-|BH|1|-|1350|MHz|", 1350),
    ("constant|DRAM bandwidth|-|-|BH p100|1|-|448|GB/s|", 448),
    ("constant|WH matmul peak|-|-|WH|1|-|262|TFLOPS|", 262),
    ("attention|SDPA causal|b1 nh8 nkv1 s4096 d128|bf16|WH|1|-|1714|us|", 1714),
    ("attention|SDPA non-causal|[1,8,4096,128] x [1,1,4096,128]|bf16|WH|1|-|3.4|ms|", 3.4),
    ("e2e|ResNet-50 (224x224)|batch 16|-|n150|n150|-|5100 Image/sec||", 5100),
    ("e2e|Stable Diffusion 1.4|batch 1|-|n150|n150|-|3.8 Sec/Image||", 3.8),
    ("e2e|Llama-3-70B|batch 32|-|QuietBox 2|4|-|15.4|tok/s/user|", 15.4),
]
UNANSWERED = [
    ("e2e|Hyena 7B|batch 32|-|n150|n150|-|13 t/s/u||", "not a decoder whose shape"),
    ("e2e|Llama 3.1 8B|batch 32|-|n150|n150|-|perplexity 7||", "is not a number"),
    ("e2e|Llama 3.1 8B|batch 32|-|n150|n150|-|7 ms/layer||", "tokens per second and the time to the first"),
    ("matmul|matmul|2048x2048|BFLOAT16 HiFi2|WH|1|(8, 8)|299|us|", "no m x k x n"),
    ("matmul|matmul|64x0x64|BFLOAT16 HiFi2|WH|1|(8, 8)|299|us|", "empty product"),
    ("matmul|matmul|64x64x64|BFLOAT16 HiFi2|H100|1|-|299|us|", "no system known"),
    ("matmul|matmul|64x64x64|BFLOAT16 HiFi2|WH|1|(8, 8)|2|GB/s|", "unit 'GB/s'"),
    ("matmul|matmul|[1,1,64,32] x [1,1,64,32]|bf16|WH|1|-|2|us|", "no m x k x n"),
    ("op|riffle|[1,1,64,32]|bf16|WH|1|-|2|us|", "no operation of a known kind"),
    (
        "fabric_bw|Shuffle/CHIP_UNICAST/NOC_UNICAST_WRITE|packet 4096 B|-|WH|32 (galaxy)|-|9|GB/s|",
        "calibrates Shuffle",
    ),
    ("ccl|all_gather|[1,1,32,32]|bf16|WH|ring|Ring|9|us|", "no number of devices"),
    ("ccl|all_gather|[1,1,32,32]|bf16|WH|8|Ring|fast|us|", "is not a number"),
    ("ccl|all_gather|[1,1,32,32]|bf16|WH|8|Ring|1e999|us|", "is not a number"),
    ("training|tt-train TinyLlama|-|bf16|BH|1|-|3 epochs/s||", "only the time of a step"),
    ("matmul|matmul|[1,1,32,64]|bf16|WH|1|-|2|us|", "no m x k x n"),
    ("ccl|all_to_all|[1,1,32,32]|bf16|WH|99999999|Ring|9|us|", "99999999 devices in one line or ring"),
    ("ccl|all_to_all_dispatch|tokens 8|bf16|WH|8|Line|118|us|", "no shape in"),
    ("constant|Number of pins|-|-|BH|1|-|13||", "is not a number that the model uses"),
    ("constant|Tensix clock|-|-|BH|1|-|13|furlongs|", "unit 'furlongs'"),
    ("attention|SDPA|q288 k512|bf16|BH|4|-|5.1|ms|", "no heads, length and head dimension"),
    (
        "attention|SDPA|b1 nh8 s4096 d128|bf16|BH|1|-|5.1|TFLOPS|",
        "utilisation of the arithmetic in % and times",
    ),
    ("op|conv2d|[1,64,56,56]|bf16|WH|1|-|40|us|", "a convolution needs both shapes"),
    ("e2e|ResNet-50|batch 16|-|n150|n150|-|76 t/s||", "results per second and the time of one"),
    ("e2e|DeepSeek-V3|batch 32|-|WH 6U|128|-|20 t/s/u||", "128 devices: galaxy has 32"),
    ("e2e|Llama 3.1 70B (TP=32)|batch 32|-|WH T3K|8|-|20 t/s/u||", "TP=32 over the 8 devices of t3000"),
    ("training|tt-train GPT-9|-|bf16|BH|1|-|6476 tok/s||", "not a decoder whose shape"),
]


def test_other_words_and_units_are_understood(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [row for row, _ in (*SPELLED, *UNANSWERED)]
    assert run(Request(points=table(tmp_path, rows), format="json")) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for one, (row, near) in zip(found, SPELLED, strict=False):
        assert one["measured"] == near, row
        assert one["predicted"] == pytest.approx(near, rel=0.2), row
    for one, (row, reason) in zip(found[len(SPELLED) :], UNANSWERED, strict=True):
        assert reason in one["not_covered"], row


def test_files_as_spreadsheets_and_editors_leave_them(tmp_path: Path) -> None:
    row = ROWS[0].split("|")
    texts = ["# mine\n\n{}\n# more\n{}\n", "{}\r\n{}\r\n", "\ufeff{}\n{}\n"]
    for number, (separator, text) in enumerate((s, t) for s in "\t;" for t in texts):
        path = tmp_path / f"{number}.csv"
        path.write_text(
            text.format(separator.join(COLUMNS), separator.join(row)), encoding="utf-8", newline=""
        )
        [point] = read(path)
        assert (point.topology, point.measured, point.line) == ("(8, 8)", 299, 5 if "mine" in text else 2)


def test_calibration_says_why_it_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = table(tmp_path, ROWS[:2])
    assert run(Request(calibrate=rows, all_rows=True, output=tmp_path)) == 66
    assert "Is a directory; nothing was written" in capsys.readouterr().err
    assert run(Request(calibrate=rows, all_rows=True, output=tmp_path / "new" / "x.yaml")) == 0
    assert (tmp_path / "new" / "x.yaml").stat().st_size
    capsys.readouterr()
    assert run(Request(calibrate=table(tmp_path, []), output=tmp_path / "x.yaml")) == 66
    assert "no row to fit to" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "missing columns kind, op, value\n  --> PATH:1:1"),
        (
            "\t".join(COLUMNS) + "\nmatmul\n" + "x\t" * 14,
            "15 cells, where the first line names 12 columns\n  --> PATH:3:1",
        ),
        (",".join(COLUMNS) + '\nmatmul,"open', "unexpected end of data\n  --> PATH\n"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    path = tmp_path / "points.tsv"
    path.write_text(text)
    assert run(Request(points=path)) == 66
    assert f"error[TTR127]: {said.replace('PATH', str(path))}" in capsys.readouterr().err


def test_a_short_row_and_odd_characters_are_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "points.tsv"
    rows = ["matmul\tx", '"quoted"\tan "inch" \u2028 here', "# a comment", "", ROWS[0].replace("|", "\t")]
    path.write_text("\ufeff" + "\r\n".join(["\t".join(COLUMNS).upper(), *rows]), encoding="utf-8")
    assert [(point.kind, point.line) for point in read(path)] == [("matmul", 2), ("quoted", 3), ("matmul", 6)]
    assert run(Request(points=path, format="json")) == 0
    assert capsys.readouterr().out.count("not_covered") == 2


def test_a_bound_that_the_prediction_exceeds_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(Request(points=table(tmp_path, [ROWS[3].replace("|950|", "|9.5|")]), format="json"))
    assert json.loads(capsys.readouterr().out)["error"] > 1


def test_the_table_tells_classes_goals_and_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(Request(points=table(tmp_path, ROWS, ","))) == 0
    said = capsys.readouterr().out
    assert "fabric bandwidth and latency" in said
    assert "not covered: 3 rows" in said
    assert "x1/2" in said


def test_a_file_without_the_columns_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "points.tsv"
    path.write_text("kind\top\nmatmul\tx\n")
    assert run(Request(points=path)) == 66
    assert "missing column value" in capsys.readouterr().err
    assert run(Request(points=tmp_path / "none.tsv")) == 66
    path.write_text("value\tkind\tarch\tshape\top\n299\tmatmul\tWH\t2048x2048x2048\tmatmul\n")
    assert run(Request(points=path, format="json")) == 0  # what else it could tell is what is usual
    assert json.loads(capsys.readouterr().out)["error"] == pytest.approx(0, abs=0.05)


def test_one_row_in_five_is_held_out_whatever_was_measured(tmp_path: Path) -> None:
    points = read(
        table(tmp_path, [ROWS[0].replace("2048x2048x2048", f"{n}x2048x2048") for n in range(32, 8000, 32)])
    )
    held = [point.held_out for point in points]
    assert 0.15 < sum(held) / len(held) < 0.25
    other = Point(**{**{n: getattr(points[0], n) for n in Point.__slots__}, "value": "1"})
    assert other.held_out == points[0].held_out


PATTERN = "fabric_bw|LinearMulticast/CHIP_MULTICAST/NOC_UNICAST_WRITE|packet {} B|-|WH|{}|Linear links=1|{}|GB/s|measured"
SIZES = (512, 1024, 1500, 2048, 3000, 4096)


@pytest.mark.parametrize("way", sweep(sorted(WAYS), quick=["ops"]))
def test_what_is_left_out_is_predicted_from_the_rest_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], way: str
) -> None:
    """All rows are of a router that takes 0.1 us a packet, which no shipped number says: those left out must show the same."""
    pytest.importorskip("scipy")
    rows = [PATTERN.format(n, system, n / 100) for n in SIZES for system in ("8 (T3K)", "32 (6U)")]
    rows.append(ROWS[0].replace("|299|", "|29.9|"))
    asked = Request(points=table(tmp_path, rows), leave_out=way, cross_validate=3, format="json")
    assert run(asked) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    if way != "rows":
        assert len(found) == len(rows)
    assert {one["part"] for one in found} == {"left out"}
    links = [one for one in found if one["kind"] == "fabric_bw"]
    if way in ("shapes", "sizes", "rows"):
        assert max(abs(one["error"]) for one in links) < 0.35
    elif way == "systems":  # the other system's packets are known
        assert max(abs(one["error"]) for one in links if one["measured"] < 30) < 0.3
    else:  # nothing is known of what they measure: what is typical comes out, not what was measured
        assert min(abs(one["error"]) for one in links) > 0.3
    [product] = [one for one in found if one["kind"] == "matmul"] or [None]
    assert product is None or product["error"] > 2


def test_calibration_follows_the_points_and_moves_fitted_numbers_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("scipy")
    pattern = "fabric_bw|{}|packet {} B|-|WH|8 (T3K)|Linear links=1|{}|GB/s|measured"
    op = "LinearMulticast/CHIP_MULTICAST/NOC_UNICAST_WRITE"
    rows = [pattern.format(op, size, rate) for size, rate in ((1024, 2.0), (2048, 4.0), (4096, 8.0))]
    out = tmp_path / "mine.yaml"
    assert run(Request(calibrate=table(tmp_path, rows), all_rows=True, output=out)) == 0
    before, after = load(shipped("wormhole")), load(out)
    changed = {k for k, n in after.systems["t3000"].items() if n != before.systems["t3000"][k]}
    assert changed
    assert all(k.startswith("fabric.") and before.systems["t3000"][k].fitted for k in changed)
    assert {n.source for k, n in after.systems["t3000"].items() if k in changed} == {"own"}
    assert after.common == before.common
    capsys.readouterr()
    run(Request(points=table(tmp_path, rows), hardware=(out,), format="json"))
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert max(abs(one["error"]) for one in found) < 0.05
    # Nobody says that they were held out: they were not.
    assert {one["part"] for one in found} == {"unknown"}
    run(Request(points=table(tmp_path, rows), hardware=(out,)))
    said = capsys.readouterr().out
    assert "all rows (3); --hardware may know them" in said and "held out" not in said


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (b"matmul|\xff|-", "not UTF-8 text: byte 0xff"),
        (b"fabric_bw|x|" + b"1" * 5000, "5000 characters in column shape, of 1000 at most"),
    ],
)
def test_what_no_table_holds_is_refused_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], row: bytes, said: str
) -> None:
    path = table(tmp_path, ROWS)
    path.write_bytes(path.read_bytes() + row.replace(b"|", b"\t") + b"\n")
    assert run(Request(points=path)) == 66
    assert f"error[TTR127]: {said}\n  --> {path}:13:1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "way"),
    [({"cross_validate": 3}, "shapes"), ({"leave_out": "ops"}, "ops"), ({"cross_validate": 3, "leave_out": "sizes"}, "sizes"), ({}, None)],
)  # fmt: skip
def test_either_word_leaves_rows_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: dict[str, Any], way: str | None
) -> None:
    asked: list[str | None] = []
    monkeypatch.setattr(
        validate, "_cross_validate", lambda bench, points, given: asked.append(given.leave_out) or 0
    )
    monkeypatch.setattr(validate, "_show", lambda *given: asked.append(None))
    assert run(Request(points=table(tmp_path, ROWS[:1]), **words)) == 0 and asked == [way]


def test_what_rows_that_fall_together_have_in_common(tmp_path: Path) -> None:
    product, pattern, scatter = read(
        table(tmp_path, [ROWS[0], ROWS[1], "ccl|all_gather dim 3|[1,1,32,32]|bf16|WH|8|Ring|3|us|"])
    )
    assert [WAYS["ops"](point) for point in (product, pattern, scatter)] == [
        "matmul|BFLOAT16 HiFi2",
        "fabric_bw|NeighborExchangeUnicast",
        "ccl|all_gather",
    ]


@pytest.mark.parametrize("kind", ["matmul", "op"])
@pytest.mark.parametrize(
    ("shape", "group"), [("1024x4096x1024", "large"), ("4096x1023x4096", "small"), ("1024x1024x512", "small")]
)
def test_which_products_are_large(tmp_path: Path, kind: str, shape: str, group: str) -> None:
    m, k, n = shape.split("x")
    given = shape if kind == "matmul" else f"[1,1,{m},{k}] x [{k},{n}]"
    [point] = read(table(tmp_path, [f"{kind}|ttnn.matmul|{given}|bf16|WH|n150|-|299|us|"]))
    assert question(point).group == f"matmul {group}"
