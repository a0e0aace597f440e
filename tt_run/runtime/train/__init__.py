"""Training on emulated meshes: autograd, operations, modules, models, optimizers, and what drives them.

    graph.py, context.py, arithmetic.py      the nodes of a forward pass, the process-wide context, bfloat16 or float32
    variable.py, tensor.py, operation.py     a value with a gradient; with arrays and operators; how an operation enters the graph
    stacks.py, axis_placement.py             kernels on stacks of shards, rounded once; where shards lie by the axes of the mesh
    parallelism.py, distributed.py           which mesh axis carries what; mappers, composers, averaging of gradients
    datasets/ trainers/                       batches and loaders; fine-tuning, reinforcement, what may be hooked in
    ops/ modules/ models/ optimizers/        forward and backward side by side; parameters with names; whole models; steps and schedules
    settings.py, kinds.py, common/           how settings are declared and read, what each takes; configuration files, data, text generation, checkpoints

Source: the documents "TTML Onboarding Guide" and "Distributed Training Guide", and the public behaviour of `ttml`.
"""
