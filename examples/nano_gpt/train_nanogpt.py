"""Train a character model and let it write: on one device, data-parallel, tensor-parallel, both, or as a pipeline of ranks.

    tt-run --emulate --system n150 python examples/nano_gpt/train_nanogpt.py -c tiny.yaml
    tt-run --emulate --system loudbox python examples/nano_gpt/train_nanogpt.py -c tiny_ddp.yaml
    tt-run --emulate --system loudbox --split 1x2 python examples/nano_gpt/train_nanogpt.py -c tiny_tp.yaml
    tt-run --emulate --system galaxy python examples/nano_gpt/train_nanogpt.py -c tiny_tp_ddp.yaml
    tt-run --emulate --system n150 --meshes 4 python examples/nano_gpt/train_nanogpt.py -c tiny_pp.yaml

`-c` names a training configuration: a path, or the name of one that ships in configs/training/training_configs. Checkpoints are .npz files
with optimizer state and generators; a run that resumes goes on with the same bits. A pipeline writes one for each stage.
"""

import argparse
import itertools
import sys

import numpy as np
import ttml
import ttnn
from ttml.common.checkpoints import apply, latest, load, save
from ttml.common.config import DeviceConfig, EvalConfig, MultiHostConfig, TrainingConfig, load_config
from ttml.common.data import get_batch, load_shakespeare_text, make_tokenizer
from ttml.common.generate import Sampling, generate
from ttml.common.logs import TrainingLog
from ttml.common.model_factory import TransformerModelFactory
from ttml.common.pipeline import PipelineTrainer, shared_token
from ttml.common.schedulers import schedule
from ttml.common.trainer import Trainer, describe, rates
from ttml.common.utils import create_optimizer, initialize_device, round_up_to_tile, set_seed, summary

EVALUATION_BATCHES = 2


def either(name):
    """An option of several words with underscores and with hyphens."""
    return name, f"--{name[2:].replace('_', '-')}" if name.startswith("--") else name


def arguments():
    parser = argparse.ArgumentParser(
        description="Train a small language model.", epilog="Options of several words take _ and - alike."
    )

    def add(*names, **settings):
        parser.add_argument(*dict.fromkeys(spelled for name in names for spelled in either(name)), **settings)

    add("-c", "--config", default="training_shakespeare_nanogpt.yaml", help="training configuration")
    add("--data_path", help="text to train on (default: what ships with the package)")
    add("--batch_size", type=int, help="batch size in all")
    add("--max_steps", type=int, help="optimizer steps")
    add("--num_epochs", "--epochs", type=int, help="passes over all windows of the text; limits the steps")
    add("--clip_grad_norm", "--max_grad_norm", type=float, help="largest norm of all gradients")
    add("--sequence_length", type=int, help="length of a window")
    add("--model_save_path", help="prefix of checkpoints, e.g. checkpoints/run")
    add(
        "--checkpoint_dir", metavar="DIR", help="the folder of that prefix, which is then --checkpoint_prefix"
    )
    add("--checkpoint_prefix", default="nano_gpt", metavar="NAME")
    add("--model_path", help="checkpoint to start from; {stage} in it stands for the stage of a pipeline")
    add(
        "--resume",
        nargs="?",
        const="",
        metavar="FILE",
        help="go on from FILE, or insist on one of --model_save_path",
    )
    add("--fresh", action="store_true", help="ignore checkpoints of --model_save_path")
    add("--prompt", help="text to continue; with --model_path nothing is trained")
    add("--max_new_tokens", type=int, default=300)
    add("--temperature", type=float, help="default: 0.8, or the configuration's")
    add("--top_k", type=int, help="default: 40, or the configuration's")
    add("--track_memory", action="store_true", help="print the memory of each phase of the first step")
    add("--print_summary", action="store_true", help="print the layers of the model and their sizes")
    add("--log_dir", help="folder for metrics.jsonl, metrics.csv and, with matplotlib, their plot")
    add("-w", "--wandb", type=int, choices=(0, 1), default=1, help="0: do not log to wandb")
    options = parser.parse_args()
    if options.checkpoint_dir:
        if options.model_save_path:
            parser.error("--model_save_path and --checkpoint_dir exclude each other")
        options.model_save_path = f"{options.checkpoint_dir}/{options.checkpoint_prefix}"
    if options.resume is not None and options.fresh:
        parser.error("--resume and --fresh exclude each other")
    if options.resume == "" and not options.model_save_path:
        parser.error("--resume needs --model_save_path")
    return options


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
    transformer.setdefault("max_sequence_length", 128)
    return yaml


class Run:
    """Everything one training run consists of, on this rank."""

    def __init__(self, options):
        self.options, self.yaml = options, settings(options)
        self.config, self.device = TrainingConfig(self.yaml), DeviceConfig(self.yaml)
        hosts = MultiHostConfig(self.yaml)
        if hosts.mode == "hierarchical":
            raise SystemExit(
                "workers and aggregators: use examples/multihost/hierarchical_parallel/training.py"
            )
        self.pipeline = hosts.mode == "pipeline"
        self.length = self.yaml["transformer_config"]["max_sequence_length"]
        self.context = ttml.autograd.AutoContext.get_instance()
        self.open(hosts)
        self.read_text()
        self.build()

    def open(self, hosts):
        """The mesh, its axes, the channels between hosts, the seeds."""
        if self.config.arithmetic:
            self.context.set_arithmetic(self.config.arithmetic)
        if self.pipeline:
            kind = ttml.core.distributed.SocketType
            self.context.initialize_distributed_context()
            self.context.initialize_socket_manager(kind.FABRIC if hosts.socket_type == "fabric" else kind.MPI)
        initialize_device(self.yaml)
        self.context.initialize_parallelism_context(
            ttml.autograd.DistributedConfig(
                enable_ddp=self.device.enable_ddp,
                enable_tp=self.device.enable_tp,
                enable_cp=self.device.enable_cp,
                enable_fsdp=self.device.enable_fsdp,
                cp_layout=self.device.cp_layout,
            )
        )
        set_seed(self.config.seed)
        world = self.context.get_distributed_context() if self.pipeline else None
        self.stage = world.rank() if world else None
        # The rank that talks: the last stage, which has the loss; else the first rank.
        self.speaks = self.stage == world.size() - 1 if world else first_rank()
        self.writes = self.pipeline or first_rank()

    def read_text(self):
        text = load_shakespeare_text(self.config.data_path)
        self.tokenizer = make_tokenizer(self.config, text)
        ids = np.array(self.tokenizer.encode(text), np.uint32)
        cut = int(0.9 * len(ids))
        self.train_ids, self.check_ids = ids[:cut], ids[cut:]
        self.yaml["transformer_config"]["vocab_size"] = round_up_to_tile(self.tokenizer.vocab_size)

    def build(self):
        """Model, optimizer and trainer; memory is tracked from here on."""
        self.memory = ttml.core.utils.MemoryUsageTracker if self.options.track_memory else None
        self.guard = self.memory.begin_capture() if self.memory else None
        self.model = TransformerModelFactory(self.yaml).create_model()
        weights = self.yaml["transformer_config"].get("model_path")
        if weights:
            self.model.load_from_safetensors(weights)
        self.snapshot("MODEL_CREATION")
        self.optimizer = create_optimizer(self.model, self.yaml)
        self.snapshot("OPTIMIZER_CREATION")
        if self.speaks:
            print(describe(self.model), flush=True)
            if self.options.print_summary:
                summary(self.model)
        config, clip = self.config, self.options.clip_grad_norm
        if clip is None and config.use_clip_grad_norm:
            clip = config.clip_grad_norm_max_norm
        windows = (len(self.train_ids) - self.length) // (
            config.batch_size * config.gradient_accumulation_steps
        )
        self.steps = min(config.steps, max(windows, 1) * config.epochs)
        if self.steps < config.steps and self.speaks:
            print(
                f"{self.steps} steps: num_epochs {config.epochs} of {windows} steps each, less than max_steps {config.steps}"
            )
        make = PipelineTrainer if self.pipeline else Trainer
        self.trainer = make(
            self.model,
            self.optimizer,
            sequence_length=self.length,
            batch_size=config.batch_size,
            accumulate=config.gradient_accumulation_steps,
            schedule=schedule(self.yaml, self.steps),
            clip=clip,
        )
        if self.memory:
            self.trainer.on_phase = self.memory.snapshot

    def snapshot(self, name):
        if self.memory:
            self.memory.snapshot(name)

    # --- checkpoints -------------------------------------------------------------------------------------------------

    @property
    def prefix(self):
        """Where checkpoints go; None when the command line and the configuration name no place."""
        given = self.options.model_save_path
        if given is None and "checkpoint_dir" in self.config.given:
            given = f"{self.config.checkpoint_dir}/{self.config.project_name}"
        return given if given is None or self.stage is None else f"{given}_stage_{self.stage}"

    def start(self):
        """Load the checkpoint that is meant, if any; the number of steps already taken."""
        path = self.options.model_path or self.options.resume or None
        if path is not None and self.stage is not None:
            path = path.replace("{stage}", str(self.stage))
        if path is None and self.prefix and not self.options.fresh:
            path = latest(self.prefix)
            if path is None and self.options.resume is not None:
                raise SystemExit(
                    f"--resume: there is no checkpoint {self.prefix}_final.npz or {self.prefix}_step_N.npz"
                )
        if path is None:
            return 0
        if self.speaks:
            print(f"going on from {path}", flush=True)
        self.trainer.steps = apply(load(path), self.model, self.optimizer)
        return self.trainer.steps

    def store(self, name, step):
        facts = {"vocabulary": list(getattr(self.tokenizer, "stoi", ()))}
        path = save(
            f"{self.prefix}_{name}",
            step=step,
            model=self.model,
            optimizer=self.optimizer,
            facts=facts,
            write=self.writes,
        )
        if self.writes:
            print(f"saved {path}", flush=True)

    # --- training ----------------------------------------------------------------------------------------------------

    def train(self, done):
        config, options = self.config, self.options
        numbers = itertools.count(done * config.gradient_accumulation_steps)

        def batches():
            # A batch follows from its number alone, so a resumed run draws what the unbroken one would have.
            return get_batch(
                self.train_ids,
                self.length,
                config.batch_size,
                np.random.default_rng((config.seed, next(numbers))),
            )

        with TrainingLog(
            options.log_dir if self.speaks else None,
            total_steps=self.steps,
            project=config.project_name,
            settings=self.yaml,
            wandb="auto" if options.wandb and self.speaks else "off",
            quiet=not self.speaks,
        ) as log:
            log.facts(parameters=ttml.common.utils.parameter_count(self.model))
            for step in range(done + 1, self.steps + 1):
                loss, seconds = self.trainer.step(batches)
                self.end_memory()
                log.step(step, loss, self.optimizer.get_lr(), seconds, *rates(self.trainer, seconds))
                if config.eval_every and step % config.eval_every == 0 and step < self.steps:
                    self.evaluate(step)
                if self.prefix and config.save_every and step % config.save_every == 0:
                    self.store(f"step_{step}", step)
        if self.prefix:
            self.store("final", self.steps)
        self.evaluate(self.steps)

    def end_memory(self):
        """The first step is over: print what it took."""
        if self.memory and self.guard:
            self.trainer.on_phase = None
            self.memory.end_capture("OPTIMIZER_STEP")
            if self.speaks:
                self.memory.print_memory_usage()
            self.guard.release()
            self.memory = None

    def evaluate(self, step):
        size = self.config.validation_batch_size
        if len(self.check_ids) <= self.length + 1 or size % self.trainer.placing.size:
            return
        draw = np.random.default_rng(0)
        loss = self.trainer.evaluate(
            lambda: get_batch(self.check_ids, self.length, size, draw), EVALUATION_BATCHES
        )
        if self.speaks:
            print(f"Step: {step}, Loss on held-out text: {loss:.6f}", flush=True)

    def write(self):
        """Continue the prompt and print the text."""
        options, limits = self.options, EvalConfig(self.yaml)
        named = "eval_config" in self.yaml
        temperature = (
            options.temperature if options.temperature is not None else limits.temperature if named else 0.8
        )
        top_k = options.top_k if options.top_k is not None else limits.top_k if named else 40
        prompt = self.tokenizer.encode(options.prompt if options.prompt is not None else "ROMEO:\n")
        made = generate(
            self.model,
            prompt,
            max_new_tokens=options.max_new_tokens,
            sequence_length=self.length,
            vocab_size=self.tokenizer.vocab_size,
            sampling=Sampling(temperature, top_k, limits.top_p, limits.repetition_penalty),
            pad=getattr(self.tokenizer, "stoi", {}).get(" ", 0),
            share=shared_token if self.pipeline else None,
        )
        if self.speaks:
            print(f"{self.tokenizer.decode(prompt)}{self.tokenizer.decode(made)}", flush=True)


def first_rank():
    return not ttnn.using_distributed_env() or int(ttnn.distributed_context_world_rank()) == 0


def main():
    options = arguments()
    try:
        run = Run(options)
        done = run.start()
    except (ValueError, FileNotFoundError) as problem:
        # What a configuration or a checkpoint says is the user's to mend; a traceback would hide it.
        raise SystemExit(f"error: {problem}") from None
    if options.prompt is None or not options.model_path:
        run.train(done)
    if options.max_new_tokens:
        run.write()
    run.context.close_device()
    return 0


if __name__ == "__main__":
    sys.exit(main())
