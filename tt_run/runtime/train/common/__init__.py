"""`ttml.common`: configuration, data, model factory, generation, logs and meters of training programs (ttml specification, sections 9 and 10)."""
