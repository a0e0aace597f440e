"""Training on emulated meshes: autograd, operations, modules, models, optimizers, and what drives them.

    graph.py, tensor.py, context.py   autograd: nodes, tensors with gradients, the process-wide context
    parallelism.py                    which mesh axis carries data and which tensor parallelism
    values.py                         kernels on stacks of shards become mesh tensors, rounded once
    ops/                              forward and backward of every operation, side by side

Source: ttml specification; the documents "TTML Onboarding Guide" and "Distributed Training Guide".
"""
