"""How shards get from rank to rank: who talks to whom, memory and messages between them, gathering, and sums in device order."""
