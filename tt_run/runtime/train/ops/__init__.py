"""Operations with gradients: each module holds forward and backward rules side by side."""
