"""A plan as an MPIJob of Kubeflow's operator, API v2beta1."""

from __future__ import annotations

from typing import Any

from tt_run.plan.emit.job import BatchJob

IMAGE = "tt-run:latest"
CLAIM = "tt-run-work"
HOSTFILE = "/etc/mpi/hostfile"


def mpijob_manifest(job: BatchJob) -> str:
    """The manifest as YAML text: one launcher that runs `tt-run`, one worker for each node.

    The operator sets only the variables of Open MPI 4, which Open MPI 5 ignores without a word: it would run every rank in the
    launcher's pod. Those of Open MPI 5 are therefore set here. Nodes must have equally many ranks, since an MPIJob has one number.
    """
    import yaml

    head = (
        f"# {job.counted('worker')}: {job.nodes.why}. Start with: kubectl apply -f FILE\n"
        f"# image {IMAGE}: one with tt-run, Open MPI and an ssh daemon.\n"
        f"# claim {CLAIM}: a ReadWriteMany volume with the program; mounted at the launch folder in every pod.\n"
        f"{job.secrets_note}"
    )
    return head + yaml.safe_dump(_manifest(job), sort_keys=False, width=110, allow_unicode=True)


def _manifest(job: BatchJob) -> dict[str, Any]:
    nodes = job.nodes
    launcher = {
        **_container(job, "launcher"),
        "command": ["tt-run", *job.words],
        "env": [{"name": name, "value": value} for name, value in _launcher_variables(job).items()],
    }
    worker = {**_container(job, "worker"), "command": ["/usr/sbin/sshd", "-De"]}
    return {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": {"name": job.name},
        "spec": {
            "slotsPerWorker": nodes.slots,
            "runPolicy": {"cleanPodPolicy": "Running", "backoffLimit": 0},
            "mpiReplicaSpecs": {
                "Launcher": _replicas(1, launcher),
                "Worker": _replicas(nodes.count, worker),
            },
        },
    }


def _launcher_variables(job: BatchJob) -> dict[str, str]:
    return {
        "PRTE_MCA_prte_default_hostfile": HOSTFILE,
        "PRTE_MCA_prte_set_default_slots": str(job.nodes.slots),
        "PRTE_MCA_prte_keep_fqdn_hostnames": "false",
        # The names of the workers reach the name server some seconds after the launcher has started.
        "PRTE_MCA_plm_ssh_args": "-o ConnectionAttempts=10 -o StrictHostKeyChecking=accept-new",
        **job.variables,
    }


def _container(job: BatchJob, name: str) -> dict[str, Any]:
    folder = str(job.plan.cwd)
    return {
        "name": name,
        "image": IMAGE,
        "workingDir": folder,
        "volumeMounts": [{"name": "work", "mountPath": folder}],
    }


def _replicas(count: int, container: dict[str, Any]) -> dict[str, Any]:
    volume = {"name": "work", "persistentVolumeClaim": {"claimName": CLAIM}}
    return {
        "replicas": count,
        "restartPolicy": "Never",
        "template": {"spec": {"containers": [container], "volumes": [volume]}},
    }
