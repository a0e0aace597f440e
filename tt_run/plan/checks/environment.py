"""Variables that contradict the plan or that two ranks must not share."""

from __future__ import annotations

from mgd.diagnostics import Label, Position
from tt_run import contract
from tt_run.inputs.findings import Findings, label
from tt_run.inputs.site import is_file
from tt_run.plan.checks.subject import Subject

_OLD_VISIBLE_DEVICES = "TT_METAL_VISIBLE_DEVICES"


def check_environment(subject: Subject, findings: Findings) -> None:
    """TTR220 to TTR223, and TTR101 for a factory descriptor that only the binding file names."""
    _check_factory(subject, findings)
    _check_identity(subject, findings)
    _check_folders(subject, findings)
    _check_old_name(subject, findings)
    _check_exports(subject, findings)


def _check_factory(subject: Subject, findings: Findings) -> None:
    """The binding file's key is taken as written, so nobody has looked for the file yet."""
    named = subject.source.factory_descriptor
    if named is not None and not is_file(subject.site.cwd / named):
        findings.error(
            "TTR101",
            f"factory system descriptor not found: {named}",
            Label(Position(subject.source.bindings.file), "factory_system_descriptor_path"),
            help="write an absolute path, or a path from the launch directory",
        )


def _check_identity(subject: Subject, findings: Findings) -> None:
    """A variable that says who a rank is must say what the binding says."""
    for binding, rank in zip(subject.bindings, subject.ranks, strict=True):
        wanted = {
            contract.MESH_ID: (str(binding.mesh_id), binding.mesh_id_position),
            contract.RANK: (str(binding.rank), binding.position),
        }
        if binding.mesh_host_rank is not None:
            at = binding.host_rank_position or binding.position
            wanted[contract.MESH_HOST_RANK] = (str(binding.mesh_host_rank), at)
        for name, (value, position) in wanted.items():
            if rank.env[name].value != value:
                findings.error(
                    "TTR222",
                    f"{name} of rank {rank.rank} contradicts its binding",
                    *label(subject.set_at(rank.rank, name), f"sets {rank.env[name].value!r}"),
                    Label(position, f"the binding says {value}"),
                    help=f"remove {name} from the variables: tt-run sets it",
                )


def _check_folders(subject: Subject, findings: Findings) -> None:
    """Kernel caches and logs of two ranks in one folder overwrite each other."""
    for name in (contract.METAL_CACHE, contract.METAL_LOGS_PATH):
        first: dict[str, int] = {}
        told: set[str] = set()
        for rank in subject.ranks:
            value = rank.env[name].value
            owner = first.setdefault(value, rank.rank)
            if owner != rank.rank and value not in told:
                told.add(value)
                findings.warn(
                    "TTR220",
                    f"ranks {owner} and {rank.rank} share the folder of {name}",
                    *label(subject.set_at(rank.rank, name), value),
                    help=f"leave {name} out: each rank then has its own",
                )


def _check_exports(subject: Subject, findings: Findings) -> None:
    """What `-x` asks mpirun for reaches a rank only where the plan gives it no value of its own."""
    for name, value in subject.mpi_args.exports.items():
        differing = (rank for rank in subject.ranks if name in rank.env and rank.env[name].value != value)
        first = next(differing, None) if value is not None else None
        if first is not None:
            given = first.env[name]
            findings.warn(
                "TTR223",
                f"-x {name} of --mpi-args does not reach rank {first.rank}, which has {name}={given.value!r}",
                help=f"set {name} in env_overrides or global_env",
                notes=(f"that comes from: {given.origin}",),
            )


def _check_old_name(subject: Subject, findings: Findings) -> None:
    for rank in subject.ranks:
        variable = rank.env.get(_OLD_VISIBLE_DEVICES)
        if variable is not None:
            findings.warn(
                "TTR221",
                f"{_OLD_VISIBLE_DEVICES} is the old name of {contract.VISIBLE_DEVICES} and limits nothing",
                *label(
                    subject.set_at(rank.rank, _OLD_VISIBLE_DEVICES), f"rank {rank.rank}: {variable.value!r}"
                ),
                help=f"rename it to {contract.VISIBLE_DEVICES}",
                notes=()
                if subject.set_at(rank.rank, _OLD_VISIBLE_DEVICES)
                else (f"from the {variable.origin}",),
            )
            return
