"""Train a character model and let it write: on one device, data-parallel, tensor-parallel, both, or as a pipeline of ranks.

    tt-run --emulate --system n150 python examples/nano_gpt/train_nanogpt.py -c tiny.yaml
    tt-run --emulate --system loudbox python examples/nano_gpt/train_nanogpt.py -c tiny_ddp.yaml
    tt-run --emulate --system loudbox --split 1x2 python examples/nano_gpt/train_nanogpt.py -c tiny_tp.yaml
    tt-run --emulate --system galaxy python examples/nano_gpt/train_nanogpt.py -c tiny_tp_ddp.yaml
    tt-run --emulate --system n150 --meshes 4 python examples/nano_gpt/train_nanogpt.py -c tiny_pp.yaml

`-c` names a training configuration: a path, or the name of one that ships in configs/training/training_configs. Checkpoints are .npz files
with optimizer state and generators; a run that resumes goes on with the same bits.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import ttml
from ttml.common.checkpoints import apply, latest, load, save
from ttml.common.config import DeviceConfig, EvalConfig, MultiHostConfig, TrainingConfig, load_config
from ttml.common.data import CharTokenizer, get_batch, load_shakespeare_text
from ttml.common.generate import Sampling, generate
from ttml.common.logs import TrainingLog
from ttml.common.model_factory import TransformerModelFactory
from ttml.common.schedulers import SCHEDULES
from ttml.common.trainer import Trainer, describe, rates
from ttml.common.utils import create_optimizer, initialize_device, round_up_to_tile, set_seed

PROGRAM = "nanogpt"


def arguments():
    parser = argparse.ArgumentParser(description="Train a small character model.")
    parser.add_argument(
        "-c", "--config", default="training_shakespeare_nanogpt.yaml", help="training configuration"
    )
    parser.add_argument("--data_path", help="text to train on (default: what ships with the package)")
    parser.add_argument("--batch_size", type=int, help="batch size in all")
    parser.add_argument("--max_steps", type=int, help="optimizer steps")
    parser.add_argument("--num_epochs", type=int, help="passes over the text; limits the steps")
    parser.add_argument("--clip_grad_norm", type=float, help="largest norm of all gradients")
    parser.add_argument("--sequence_length", type=int, help="length of a window")
    parser.add_argument("--model_save_path", help="prefix of checkpoints, e.g. checkpoints/run")
    parser.add_argument("--model_path", help="checkpoint to start from")
    parser.add_argument(
        "--resume", action="store_true", help="go on from the last checkpoint of --model_save_path"
    )
    parser.add_argument("--fresh", action="store_true", help="ignore checkpoints of --model_save_path")
    parser.add_argument("--prompt", help="text to continue; with --model_path nothing is trained")
    parser.add_argument("--max_new_tokens", type=int, default=300)
    parser.add_argument("--temperature", type=float, default=0.8)
    parser.add_argument("--top_k", type=int, default=40)
    parser.add_argument(
        "--track_memory", action="store_true", help="print the memory of each phase of the first step"
    )
    parser.add_argument("--log_dir", help="folder for metrics.jsonl and metrics.csv")
    parser.add_argument("-w", "--wandb", type=int, choices=(0, 1), default=1, help="0: do not log to wandb")
    return parser.parse_args()


def settings(options):
    """The configuration with what the command line changes, and the files it names read in."""
    yaml = load_config(options.config)
    training = yaml.setdefault("training_config", {})
    for name in ("batch_size", "max_steps", "num_epochs", "data_path"):
        if getattr(options, name) is not None:
            training[name] = getattr(options, name)
    for name in ("model_config", "multihost_config"):
        if training.get(name):
            yaml.update({key: value for key, value in load_config(training[name]).items() if key not in yaml})
    transformer = yaml.setdefault("transformer_config", {})
    if options.sequence_length:
        transformer["max_sequence_length"] = options.sequence_length
    return yaml


def main():
    options = arguments()
    yaml = settings(options)
    config, device, hosts = TrainingConfig(yaml), DeviceConfig(yaml), MultiHostConfig(yaml)
    context = ttml.autograd.AutoContext.get_instance()
    if config.arithmetic:
        context.set_arithmetic(config.arithmetic)
    pipeline = hosts.mode == "pipeline"
    if pipeline:
        context.initialize_distributed_context()
        context.initialize_socket_manager(ttml.core.distributed.SocketType.MPI)
    initialize_device(yaml)
    context.initialize_parallelism_context(
        ttml.autograd.DistributedConfig(enable_ddp=device.enable_ddp, enable_tp=device.enable_tp)
    )
    set_seed(config.seed)

    text = load_shakespeare_text(config.data_path)
    tokenizer = CharTokenizer(text)
    ids = np.array(tokenizer.encode(text), np.uint32)
    train_ids, check_ids = ids[: int(0.9 * len(ids))], ids[int(0.9 * len(ids)) :]
    length = yaml["transformer_config"].get("max_sequence_length", 128)
    yaml["transformer_config"]["vocab_size"] = round_up_to_tile(tokenizer.vocab_size)

    memory = ttml.core.utils.MemoryUsageTracker if options.track_memory else None
    guard = memory.begin_capture() if memory else None
    model = TransformerModelFactory(yaml).create_model()
    if memory:
        memory.snapshot("MODEL_CREATION")
    optimizer = create_optimizer(model, yaml)
    if memory:
        memory.snapshot("OPTIMIZER_CREATION")
    first = is_first_rank(context, pipeline)
    if first:
        print(describe(model), flush=True)

    steps = config.steps
    if options.num_epochs:
        per_epoch = max(
            len(train_ids) // (length * config.batch_size * config.gradient_accumulation_steps), 1
        )
        steps = min(steps, per_epoch * options.num_epochs)
    if pipeline:
        from pipeline import PipelineTrainer

        trainer = PipelineTrainer(
            model,
            optimizer,
            sequence_length=length,
            batch_size=config.batch_size,
            accumulate=config.gradient_accumulation_steps,
        )
    else:
        clip = options.clip_grad_norm or (
            config.clip_grad_norm_max_norm if config.use_clip_grad_norm else None
        )
        trainer = Trainer(
            model,
            optimizer,
            sequence_length=length,
            batch_size=config.batch_size,
            accumulate=config.gradient_accumulation_steps,
            schedule=SCHEDULES[config.scheduler_type](config.lr, steps),
            clip=clip,
        )
    if memory:
        trainer.on_phase = memory.snapshot
    done = start_from(options, model, optimizer)
    trainer.steps = done
    sampling = Sampling(options.temperature, options.top_k, *eval_limits(yaml))
    if options.prompt is not None and options.model_path:
        write(model, tokenizer, options, sampling, length, first)
        context.close_device()
        return 0

    draw = np.random.default_rng(config.seed + done)

    def batches():
        return get_batch(train_ids, length, config.batch_size, draw)

    with TrainingLog(
        options.log_dir if first else None,
        total_steps=steps,
        project=config.project_name,
        settings=yaml,
        wandb="auto" if options.wandb and first else "off",
        quiet=not first,
    ) as log:
        for step in range(done, steps):
            loss, seconds = trainer.step(batches)
            if memory and step == done:
                trainer.on_phase = None
                memory.end_capture("OPTIMIZER_STEP")
                memory.print_memory_usage()
                guard.release()
            samples, tokens = rates(trainer, seconds)
            log.step(
                step + 1,
                loss,
                lr=optimizer.get_lr(),
                seconds=seconds,
                samples_per_second=samples,
                tokens_per_second=tokens,
            )
            if options.model_save_path and config.save_every and (step + 1) % config.save_every == 0:
                store(f"{options.model_save_path}_step_{step + 1}", step + 1, model, optimizer, tokenizer)
    if options.model_save_path:
        store(f"{options.model_save_path}_final", steps, model, optimizer, tokenizer)
    if not pipeline:
        if len(check_ids) > length + 1:
            check_draw = np.random.default_rng(0)
            held_out = trainer.evaluate(
                lambda: get_batch(check_ids, length, config.batch_size, check_draw), 2
            )
            if first:
                print(f"loss on held-out text: {held_out:.4f}", flush=True)
        write(model, tokenizer, options, sampling, length, first)
    context.close_device()
    return 0


def is_first_rank(context, pipeline):
    """The rank that prints: the last stage of a pipeline, which has the loss; else the first rank."""
    import ttnn

    if pipeline:
        distributed = context.get_distributed_context()
        return distributed.rank() == distributed.size() - 1
    return not ttnn.using_distributed_env() or int(ttnn.distributed_context_world_rank()) == 0


def eval_limits(yaml):
    limits = EvalConfig(yaml)
    return limits.top_p, limits.repetition_penalty


def start_from(options, model, optimizer):
    """Load the checkpoint that the command line means; the number of steps already taken."""
    path = Path(options.model_path) if options.model_path else None
    if path is None and options.model_save_path and options.resume and not options.fresh:
        path = latest(options.model_save_path)
    if path is None:
        return 0
    print(f"going on from {path}", flush=True)
    return apply(load(path), model, optimizer)


def store(prefix, step, model, optimizer, tokenizer):
    path = save(
        prefix, step=step, model=model, optimizer=optimizer, facts={"vocabulary": list(tokenizer.stoi)}
    )
    print(f"saved {path}", flush=True)


def write(model, tokenizer, options, sampling, length, first):
    """Continue the prompt and print the text."""
    prompt = tokenizer.encode(options.prompt if options.prompt is not None else "ROMEO:\n")
    made = generate(
        model,
        prompt,
        max_new_tokens=options.max_new_tokens,
        sequence_length=length,
        vocab_size=tokenizer.vocab_size,
        sampling=sampling,
        pad=tokenizer.stoi.get(" ", 0),
    )
    if first:
        print(f"{tokenizer.decode(prompt)}{tokenizer.decode(made)}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
