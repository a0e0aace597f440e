"""Small changes in the sources, and whether the tests notice them: what `scripts/mutate` is made of."""
