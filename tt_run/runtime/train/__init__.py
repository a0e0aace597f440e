"""Training on emulated meshes: autograd, operations, modules, models, optimizers, and what drives them.

    autograd/                                values with gradients, the graph that leads back from a loss, the context of a program, its ranks
    parallel/                                how models lie over the axes of a mesh: data, tensor and fully sharded parallelism, layouts
    datasets/ trainers/                       batches and loaders; fine-tuning, reinforcement, what may be hooked in
    ops/ modules/ models/ optimizers/        forward and backward side by side; parameters with names; whole models; steps and schedules
    settings.py, kinds.py, common/           how settings are declared and read, what each takes; configuration files, data, text generation, checkpoints

Source: the documents "TTML Onboarding Guide" and "Distributed Training Guide", and the public behaviour of `ttml`.
"""
