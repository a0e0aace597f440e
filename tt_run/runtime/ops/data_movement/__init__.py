"""Operations that compute nothing: shape, order, joining, cutting, looking up, padding, layout, host and device."""
