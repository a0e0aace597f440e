"""Operations on images, videos and signals: convolutions, pools, resampling, transforms."""
