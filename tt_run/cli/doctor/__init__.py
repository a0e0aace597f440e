"""`tt-run doctor`: whether launches work here and on other hosts."""
