"""`ttml.common`: configuration, data, model factory, generation, logs and meters of training programs."""
