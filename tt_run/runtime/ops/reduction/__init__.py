"""Operations over dimensions: sums and extremes, order and choice, statistics, losses; and what they refuse."""
