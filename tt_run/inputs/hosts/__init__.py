"""Which hosts take which ranks: host lists, rankfiles, pinnings."""
