"""A plan as a job for a scheduler: a Slurm batch script or a Kubernetes MPIJob, both of which run tt-run again where the hosts are."""
