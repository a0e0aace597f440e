"""Pipeline-parallel training of a Llama over several hosts: each rank has some of the blocks.

    ./runner.sh --emulate --config tiny_pp.yaml                          # four ranks here, no hardware
    tt-run --emulate --system n150 --meshes 4 python training.py -c tiny_pp.yaml

The first rank embeds, the last one has the loss and prints; targets travel from the first rank to the last, activations from each rank
to the next, their gradients back.
"""

import argparse
import sys

import numpy as np
import trainer
import ttml
from ttml.common.checkpoints import save
from ttml.common.config import ConfigError, DeviceConfig, MultiHostConfig, TrainingConfig, load_config
from ttml.common.data import CharTokenizer, get_batch, load_shakespeare_text
from ttml.common.model_factory import TransformerModelFactory
from ttml.common.schedulers import schedule
from ttml.common.utils import (
    PerformanceMeter,
    create_optimizer,
    initialize_device,
    round_up_to_tile,
    set_seed,
)


def arguments():
    parser = argparse.ArgumentParser(description="Pipeline-parallel training over several hosts.")
    parser.add_argument("-c", "--config", default="tiny_pp.yaml")
    parser.add_argument("--max_steps", type=int)
    parser.add_argument("--save", help="prefix of files for the final weights of each stage")
    return parser.parse_args()


def main():
    options = arguments()
    yaml = load_config(options.config)
    training = yaml.setdefault("training_config", {})
    if options.max_steps:
        training["max_steps"] = options.max_steps
    for name in ("model_config", "multihost_config"):
        if training.get(name):
            yaml.update({key: value for key, value in load_config(training[name]).items() if key not in yaml})
    if training.get("use_clip_grad_norm"):
        raise SystemExit(
            "clip_grad_norm is not supported with several hosts; help: use_clip_grad_norm: false"
        )
    config, device, hosts = TrainingConfig(yaml), DeviceConfig(yaml), MultiHostConfig(yaml)
    context = ttml.autograd.AutoContext.get_instance()
    if config.arithmetic:
        context.set_arithmetic(config.arithmetic)
    context.initialize_distributed_context()
    kind = ttml.core.distributed.SocketType
    context.initialize_socket_manager(kind.FABRIC if hosts.socket_type == "fabric" else kind.MPI)
    world = context.get_distributed_context()
    trainer.check(hosts, world)

    initialize_device(yaml)
    context.initialize_parallelism_context(
        ttml.autograd.DistributedConfig(
            device.enable_ddp, device.enable_tp, device.enable_cp, device.enable_fsdp, device.cp_layout
        )
    )
    set_seed(config.seed)
    text = load_shakespeare_text(config.data_path)
    tokenizer = CharTokenizer(text)
    ids = np.array(tokenizer.encode(text), np.uint32)
    yaml["transformer_config"]["vocab_size"] = round_up_to_tile(tokenizer.vocab_size)
    model = TransformerModelFactory(yaml).create_model()
    optimizer = create_optimizer(model, yaml)
    stage = trainer.Stage(model, optimizer, config, schedule(yaml, config.steps))
    draw = np.random.default_rng(config.seed)
    meter = PerformanceMeter(config)
    for step in range(config.steps):
        loss = stage.step(lambda: get_batch(ids, config.seq_len, config.batch_size, draw))
        meter.step()
        if stage.is_last and (step == 0 or (step + 1) % 10 == 0 or step + 1 == config.steps):
            samples, tokens = meter.get_metrics()
            print(
                f"Step {step + 1}/{config.steps}: Loss = {loss:.6f}, Samples/s = {samples:.1f}, Tokens/s = {tokens:.0f}",
                flush=True,
            )
    if options.save:
        save(f"{options.save}_stage_{world.rank()}", step=config.steps, model=model, optimizer=optimizer)
    world.barrier()
    context.close_device()
    print(f"Rank {world.rank()}: Finished", flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (ConfigError, FileNotFoundError) as problem:
        sys.exit(f"error: {problem}")
