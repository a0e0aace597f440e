"""Digits recognised by a small network, in the manner of MNIST: the pictures are made here, of seven bars, shifted and noisy.

    tt-run --emulate --system n300 python examples/training/digits.py

Two devices have half of every batch each; gradients are averaged before each step.
"""

import numpy as np
import ttml
import ttnn
from ttml.modules import AbstractModuleBase, LinearLayer

BARS = [
    "1110111",
    "0010010",
    "1011101",
    "1011011",
    "0111010",
    "1101011",
    "1101111",
    "1010010",
    "1111111",
    "1111011",
]
SIZE = 16


def picture(digit, generator):
    """A digit of seven bars on 16x16 points."""
    lit, image = [bar == "1" for bar in BARS[digit]], np.zeros((SIZE, SIZE), np.float32)
    places = ((1, 2, 4, 10), (2, 7, 3, 4), (2, 7, 10, 11), (7, 8, 4, 10), (8, 13, 3, 4), (8, 13, 10, 11), (13, 14, 4, 10))  # fmt: skip
    for on, (top, bottom, left, right) in zip(lit, places, strict=True):
        image[top : bottom + 1, left : right + 1] += on
    image = np.roll(np.minimum(image, 1), generator.integers(-1, 2, 2), (0, 1))
    return image + generator.normal(0, 0.3, image.shape)


def batch(count, generator):
    labels = generator.integers(0, 10, count)
    pixels = np.stack([picture(label, generator) for label in labels]).astype(np.float32)
    return pixels.reshape(count, 1, 1, SIZE * SIZE), labels.astype(np.uint32).reshape(count, 1)


class Network(AbstractModuleBase):
    def __init__(self):
        super().__init__()
        self.first, self.second = LinearLayer(SIZE * SIZE, 64), LinearLayer(64, 32)

    def forward(self, x):
        return self.second(ttml.ops.unary.relu(self.first(x)))


context = ttml.autograd.AutoContext.get_instance()
ttml.open_device_mesh(ttml.Mesh((1, 2), ("_", "dp")))
ttml.manual_seed(0)
halves, model = ttml.mesh().axis_mapper("dp", 0), Network()
optimizer = ttml.optimizers.SGD(model.parameters(), ttml.optimizers.SGDConfig.make(lr=0.1, momentum=0.9))
generator = np.random.default_rng(0)
for step in range(60):
    pixels, labels = batch(64, generator)
    x = ttml.autograd.Tensor.from_numpy(pixels, new_type=ttnn.DataType.BFLOAT16, mapper=halves)
    y = ttml.autograd.Tensor.from_numpy(labels, ttnn.Layout.ROW_MAJOR, ttnn.DataType.UINT32, halves)
    optimizer.zero_grad()
    loss = ttml.ops.loss.cross_entropy_loss(model(x), y)
    loss.backward()
    context.reset_graph()
    ttml.sync_gradients(model.parameters())
    optimizer.step()
    if step % 20 == 0 or step == 59:
        print(f"step {step}: loss {ttml.common.utils.get_loss_over_devices(loss):.4f}")

pixels, labels = batch(500, np.random.default_rng(99))
with ttml.common.utils.no_grad():
    found = model(ttml.autograd.Tensor.from_numpy(pixels, new_type=ttnn.DataType.BFLOAT16)).to_numpy()
right = float((found[..., :10].argmax(-1).ravel() == labels.ravel()).mean())
print(f"{right:.1%} of 500 new pictures are recognised")
assert right > 0.9
context.close_device()
