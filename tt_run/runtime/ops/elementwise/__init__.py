"""Operations whose every element stands for itself: of one, two and three operands, complex, quantized, drawn at random."""
