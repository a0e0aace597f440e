"""Training loops: supervised fine-tuning, and reinforcement by groups of completions; what may be hooked in, and reports."""
