"""Published figures by name: operations of a decoder on a Galaxy, whole models, training steps -> the works that make them up."""

from __future__ import annotations

import re
from collections.abc import Callable

from tt_run.runtime.model import endtoend, galaxy
from tt_run.runtime.model.cost import cost
from tt_run.runtime.model.hardware import Hardware
from tt_run.runtime.model.points import NotCovered, Point
from tt_run.runtime.model.transformer import Transformer, models
from tt_run.runtime.model.work import Collective, Matmul

Predict = Callable[[Hardware], float]

# Names of one operation measured by itself -> the label of the same operation in the decoder.
ALONE = {
    "BinaryDeviceOperation": "Binary_Mult_Silu",
    "RotaryEmbeddingLlamaFusedQK": "RotaryEmbeddingLlamaFusedQK",
    "PagedUpdateCache": "PagedUpdateCache",
    "ScaledDotProductAttentionDecode": "SDPA",
    "LayerNorm": "LayerNorm",
    "Embeddings": "Embeddings",
}

# Published name of a model -> its shape in models.yaml; the first pattern that matches.
NAMES = (
    (r"Llama.?3\.?\d?.*70B|Llama.*70B|R1 Distill Llama 70B", "llama-3.1-70b"),
    (r"Llama.*\b8B", "llama-3.1-8b"),
    (r"Llama.*\b1B", "llama-3.2-1b"),
    (r"Llama.*\b3B", "llama-3.2-3b"),
    (r"Llama.*11B", "llama-3.2-11b"),
    (r"Mistral.*7B", "mistral-7b"),
    (r"Mixtral", "mixtral-8x7b"),
    (r"Falcon.*40B", "falcon-40b"),
    (r"Falcon.*7B", "falcon-7b"),
    (r"Qwen.*72B", "qwen-2.5-72b"),
    (r"Qwen.*Coder.*32B", "qwen-2.5-coder-32b"),
    (r"Qwen.?3.*32B", "qwen3-32b"),
    (r"QwQ.*32B", "qwq-32b"),
    (r"Qwen.*7B", "qwen-2.5-7b"),
    (r"TinyLlama", "tinyllama-1.1b"),
    (r"nano.?gpt", "nanogpt"),
    (r"gpt.?2", "gpt2-small"),
)


def model_named(text: str) -> Transformer:
    """The shape of a published model. Raises NotCovered when it is not among models.yaml."""
    for pattern, name in NAMES:
        if re.search(pattern, text, re.IGNORECASE):
            return models()[name]
    raise NotCovered(f"{text!r} is not a decoder whose shape models.yaml gives")


def named_operation(point: Point) -> tuple[Predict, str]:
    """An operation of a decoder by its published name (`decoder:Matmul_0 (QKV_MM)`), or measured by itself."""
    if point.kind == "op":
        section, name, label = "decoder", point.op, ALONE.get(point.op, point.op)
    else:
        found = re.fullmatch(r"(\w+):(\w+)(?: \((.+)\))?", point.op)
        if not found:
            raise NotCovered(f"cannot read part and name from {point.op!r}")
        section, name, label = found[1], found[2], found[3] or found[2]
    model = model_named(f"{point.shape} {point.arch}")
    ring = "4U" not in point.arch
    if section == "prefill":
        tokens = re.search(r"seq (\d+)", point.shape)
        named = galaxy.prefill(model, int(tokens[1]) if tokens else galaxy.CHUNK)
    elif section in galaxy.PARTS:
        named = galaxy.PARTS[section](model, ring)
    else:
        raise NotCovered(f"no model of the part {section!r}")
    works = _find(named, label, name)
    if works is None:
        raise NotCovered(f"what {section}:{name} ({label}) computes is not published with its shapes")
    large = isinstance(works[0], Matmul) and section == "prefill"
    moved = max((w.bytes for w in works if isinstance(w, Collective)), default=0)
    group = (
        "matmul large" if large else "ccl large" if moved >= 1 << 20 else "ccl small" if moved else "other"
    )
    return lambda hw: sum(cost(hw, work).us for work in works), group


def _find(named: dict[str, galaxy.Works], label: str, name: str) -> galaxy.Works | None:
    """The works under a label; published labels carry numbers and prefixes of their own."""
    aliases = {"Matmul_FF3_ReduceScatter_FF1": "ReduceScatter_FF1_MM_FF3"}
    label = aliases.get(label, label)
    words = [label, re.sub(r"_\d+$", "", label), label.split("_", 1)[-1], name, re.sub(r"_\d+$", "", name)]
    for word in words:
        if word in named:
            return named[word]
    return next((works for key, works in named.items() if key in label), None)


def whole_model(point: Point) -> tuple[Predict, str]:
    """Tokens per second and user of a published decoder, or milliseconds of a training step."""
    text = f"{point.op} {point.devices} {point.shape}"
    model = model_named(point.op)
    if point.kind == "training":
        batch, length = (re.search(rf"{word}[ =]?(\d+)", text) for word in ("batch", "seq"))
        tokens = int(batch[1]) * int(length[1]) if batch and length else None
        return lambda hw: endtoend.training_step(hw, model, tokens) / 1e3, "training"
    if "t/s/u" not in point.value and "t/s/u" not in point.unit:
        raise NotCovered(f"{point.op}: only tokens per second and user of decoders are modelled")
    parallel = re.search(r"TP ?=? ?(\d+)", text)
    users = re.search(r"batch (\d+)", point.shape)
    asked = int(parallel[1]) if parallel else None
    together = int(users[1]) if users else galaxy.BATCH

    def predict(hw: Hardware) -> float:
        devices = asked or hw.devices
        # Replicas share the users, not the weights.
        each = max(together * devices // max(hw.devices, devices), 1)
        return 1e6 / endtoend.decode_step(hw, model, devices, each)

    return predict, "e2e"
