"""Wan 2.2: a transformer that takes noise from the latents of a video, told by a text. Source: upstream's `ttml.models.wan2_2`."""
