"""What the multi-host examples compute, on one device: the same batches from the same seed; `one_device.py CONFIG BATCH STEPS FILE`."""

import sys

import numpy as np
import ttml
from ttml.common.checkpoints import save
from ttml.common.config import TrainingConfig, load_config
from ttml.common.data import CharTokenizer, get_batch, load_shakespeare_text
from ttml.common.model_factory import TransformerModelFactory
from ttml.common.trainer import Trainer
from ttml.common.utils import create_optimizer, initialize_device, round_up_to_tile, set_seed

yaml = load_config(sys.argv[1])
batch, steps, target = int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
yaml.update(load_config(yaml["training_config"]["model_config"]))
yaml["training_config"].pop("multihost_config", None)
config = TrainingConfig(yaml)
context = ttml.autograd.AutoContext.get_instance()
context.set_arithmetic(config.arithmetic)
initialize_device(yaml)
set_seed(config.seed)
text = load_shakespeare_text()
tokenizer = CharTokenizer(text)
ids = np.array(tokenizer.encode(text), np.uint32)
yaml["transformer_config"]["vocab_size"] = round_up_to_tile(tokenizer.vocab_size)
model = TransformerModelFactory(yaml).create_model()
optimizer = create_optimizer(model, yaml)
trainer = Trainer(model, optimizer, sequence_length=config.seq_len, batch_size=batch)
draw = np.random.default_rng(config.seed)
for _ in range(steps):
    trainer.step(lambda: get_batch(ids, config.seq_len, batch, draw))
save(target, step=steps, model=model, optimizer=optimizer)
