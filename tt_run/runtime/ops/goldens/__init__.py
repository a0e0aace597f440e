"""Golden functions, which say with torch what operations compute; torch is imported when one of them runs."""
