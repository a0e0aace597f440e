"""Products of matrices and vectors: which operands they take, how they are computed, and the operations made of them."""
