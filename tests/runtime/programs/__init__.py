"""Programs of the shapes that model demos have, against PyTorch, on one rank and on several."""
