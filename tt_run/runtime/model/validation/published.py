"""Published figures by name: operations of a decoder on a Galaxy, whole models, training steps -> the works that make them up."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from tt_run.hardware.numbers import Hardware
from tt_run.runtime.model import galaxy
from tt_run.runtime.model.cost import cost
from tt_run.runtime.model.transformer import Network, Transformer, models, networks
from tt_run.runtime.model.validation import endtoend, notation
from tt_run.runtime.model.validation.points import NotCovered, Point
from tt_run.runtime.model.validation.quantities import NUMBER, TIMES, Figure
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

# Published name of a model -> its shape in models.yaml; the first pattern that matches, whatever its case.
NAMES = (
    (r"Llama.*\b70B|\b70B.*Llama", "llama-3.1-70b"),
    (r"Llama.*\b90B", "llama-3.2-90b"),
    (r"TinyLlama", "tinyllama-1.1b"),
    (r"Llama.*\b8B", "llama-3.1-8b"),
    (r"Llama.*\b1B", "llama-3.2-1b"),
    (r"Llama.*\b3B", "llama-3.2-3b"),
    (r"Llama.*\b11B", "llama-3.2-11b"),
    (r"Mixtral.*8x22B", "mixtral-8x22b"),
    (r"Mixtral", "mixtral-8x7b"),
    (r"Mistral.*\b24B", "mistral-small-24b"),
    (r"Mistral.*\b7B", "mistral-7b"),
    (r"Falcon.?40B", "falcon-40b"),
    (r"Falcon.?7B", "falcon-7b"),
    (r"Qwen.*Coder.*\b32B", "qwen-2.5-coder-32b"),
    (r"QwQ.*\b32B", "qwq-32b"),
    *(
        (rf"Qwen.?3\b.*\b{size}B", f"qwen3-{size.lower()}b")
        for size in (r"0\.6", r"1\.7", "4", "8", "14", "32")
    ),
    (r"Qwen.*\b0\.5B", "qwen-2.5-0.5b"),
    (r"Qwen.*\b1\.5B", "qwen-2.5-1.5b"),
    (r"Qwen.*\b3B", "qwen-2.5-3b"),
    (r"Qwen.*\b7B", "qwen-2.5-7b"),
    (r"Qwen.*\b14B", "qwen-2.5-14b"),
    (r"Qwen.*\b32B", "qwen-2.5-coder-32b"),
    (r"Qwen.*\b72B", "qwen-2.5-72b"),
    *((rf"Gemma.?3\b.*\b{size}B", f"gemma-3-{size}b") for size in ("1", "4", "27")),
    (r"Phi.?3.*mini", "phi-3-mini"),
    (r"Phi.?4\b", "phi-4"),
    *((rf"gpt.?oss.*{size}B", f"gpt-oss-{size}b") for size in ("20", "120")),
    (r"DeepSeek.*Distill.*Llama.*8B", "llama-3.1-8b"),
    (r"DeepSeek.*Distill.*Qwen.*14B", "qwen-2.5-14b"),
    (r"DeepSeek.*Distill.*Qwen.*32B", "qwen-2.5-coder-32b"),
    (r"DeepSeek.*\b(V3|R1)|\b(V3|R1)\b.*DeepSeek", "deepseek-v3"),
    (r"distil.*whisper|whisper.*distil", "whisper-distil-large-v3"),
    (r"whisper.*large.*turbo", "whisper-large-v3-turbo"),
    (r"whisper", "whisper-large-v3"),
    (r"Mamba", "mamba-2.8b"),
    (r"nano.?gpt", "nanogpt"),
    (r"gpt.?2", "gpt2-small"),
)
# The same for networks that are no decoders.
NETWORKS = (
    (r"ResNet.?50", "resnet-50"),
    (r"MobileNet.?V2", "mobilenet-v2"),
    (r"EfficientNet.?B0", "efficientnet-b0"),
    (r"VGG.?16", "vgg-16"),
    (r"YOLO.?v4", "yolov4"),
    (r"YOLO.?v8.?s", "yolov8s"),
    (r"(Vanilla )?U.?Net", "unet-256"),
    (r"Stable.?Diffusion 1\.4|\bSD.?1\.4", "stable-diffusion-1.4"),
    (r"\bViT\b", "vit-base"),
    (r"\bDeiT\b", "deit-base"),
    (r"BERT.*large", "bert-large"),
    (r"BERT", "bert-base"),
)


PROMPT = 128
"""Tokens of a prompt where a table of times to the first token does not give them."""


def model_named(text: str) -> Transformer:
    """The shape of a published model. Raises NotCovered when it is not among models.yaml."""
    name = _named(NAMES, text)
    if name is None:
        raise NotCovered(f"{text!r} is not a decoder whose shape models.yaml gives")
    return models()[name]


def _named(table: Iterable[tuple[str, str]], text: str) -> str | None:
    found = (name for pattern, name in table if re.search(pattern, text, re.IGNORECASE))
    return next((name.replace("\\", "") for name in found), None)


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
        tokens = notation.after(r"(?:ISL|seq(?:uence)?(?:[ _]?len(?:gth)?)?|prefill)", point.shape)
        tokens = tokens or notation.before("tokens", point.shape)
        named = galaxy.prefill(model, tokens or galaxy.CHUNK)
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
    """Tokens per second of a published decoder, results per second of another network, or the time of a training step."""
    measured = point.figure
    if measured is None:
        raise NotCovered(f"the value {point.value!r} is not a number")
    if point.kind == "training":
        return _training(point, measured), "training"
    name = _named(NETWORKS, point.op)
    if name is not None:
        return _network(point, networks()[name], measured), "e2e"
    model = model_named(point.op)
    if measured.name == "first token":
        return _first_token(point, model, measured), "first token"
    if measured.name not in ("per user", "total", "each token"):
        told = "tokens per second and the time to the first are modelled"
        raise NotCovered(f"{point.op}: of decoders {told}, not {point.value!r}")
    users = _after(r"batch(?: size)?", point)

    def predict(hw: Hardware) -> float:
        split = _split(point, hw)
        together = users or galaxy.BATCH * split.data
        # A table gives the users of all groups, or those of each.
        together = (
            max(together, split.data) if together >= galaxy.BATCH * split.data else together * split.data
        )
        us = endtoend.decode_step(hw, model, split, together)
        return {"total": 1e6 * together / us, "each token": us / 1e3}.get(measured.name, 1e6 / us)

    return predict, "e2e"


def _first_token(point: Point, model: Transformer, measured: Figure) -> Predict:
    """Of one user's prompt; 128 tokens where the row does not say how long it is, as published tables have it."""
    if model.latent or model.state or model.encoded:
        raise NotCovered(f"{point.op}: how its prompts are worked through is not modelled")
    tokens = _after(r"(?:ISL|seq(?:uence)?(?: ?len(?:gth)?)?|prompt)", point) or PROMPT

    def predict(hw: Hardware) -> float:
        return endtoend.first_token(hw, model, _split(point, hw), tokens) / TIMES[measured.unit]

    return predict


def _after(word: str, point: Point) -> int | None:
    """The number after a word in what a row says of its work."""
    return notation.after(word, f"{point.op} {point.shape} {point.devices} {point.topology}")


def _split(point: Point, hw: Hardware) -> endtoend.Split:
    """How a row says that its model lies over the system's chips: `TP=8`, `DP=4`; what it does not say follows from the other."""
    tensor, data = _after("TP", point), _after("DP", point)
    told = re.fullmatch(r"(\d+)(?: ?(?:chips|devices|cards))?", point.devices)
    if tensor is None and data is None and told and int(told[1]) > hw.devices:
        raise NotCovered(
            f"{told[1]} devices: {hw.system} has {hw.devices}; TP and DP would say how a model lies over more"
        )
    if tensor is not None and tensor > hw.devices:
        raise NotCovered(f"TP={tensor} over the {hw.devices} devices of {hw.system}")
    if tensor is None:
        return endtoend.Split(max(hw.devices // (data or 1), 1), data or 1)
    return endtoend.Split(max(tensor, 1), data or max(hw.devices // max(tensor, 1), 1))


def _training(point: Point, measured: Figure) -> Predict:
    """A step over the tokens that the row gives: batch and length, or the tokens per second beside the time of a step."""
    model = model_named(point.op)
    length = _after(r"(?:seq(?:uence)?(?: ?len(?:gth)?)?|ISL)", point) or model.context
    batch, steps = (
        _after(r"batch(?: size)?", point),
        _after(r"(?:grad(?:ient)?[ _]accum\w*|accum\w*)", point) or 1,
    )
    said, batch = batch, batch or model.batch
    rate = re.search(rf"({NUMBER}) tok(?:ens)?/s\b", point.value)
    unit = measured.unit.lower().split("/")[0]
    if measured.name not in ("step", "steps", "total") or (measured.name == "step" and unit not in TIMES):
        told = "of training only the time of a step and steps or tokens per second are modelled"
        raise NotCovered(f"{point.op}: {told}, not {point.value!r}")

    def predict(hw: Hardware) -> float:
        split = _split(point, hw) if hw.devices > 1 else endtoend.ONE_CHIP
        tokens = float(batch * length * steps) if batch else hw["training.tokens"]
        if rate and measured.name == "step" and not said:
            tokens = float(rate[1].replace(",", "")) * measured.number * TIMES[unit] / 1e6
        us = endtoend.training_step(hw, model, tokens, split)
        if measured.name == "steps":
            return 1e6 / us
        return 1e6 * tokens / us if measured.name == "total" else us / TIMES[unit]

    return predict


def _network(point: Point, network: Network, measured: Figure) -> Predict:
    if measured.name not in ("per second", "each"):
        told = "results per second and the time of one are modelled"
        raise NotCovered(f"{point.op}: of networks that are no decoders {told}, not {point.value!r}")
    batch = _after(r"batch(?: size)?", point) or 1

    def predict(hw: Hardware) -> float:
        replicas = _after("DP", point) or 1
        together = batch if batch >= replicas else batch * replicas
        us = endtoend.inference(hw, network, together, replicas)
        if measured.name == "per second":
            return 1e6 * together / us
        unit = re.split(r"[/ ]", measured.unit.lower())[0].removesuffix("onds")
        return us / together / TIMES[unit]

    return predict
