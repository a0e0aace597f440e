"""The words that tt-run adds to the launcher's line by itself, each with its reason (reference launcher 0.81.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from tt_run.launch.machine import Machine
from tt_run.launch.options import LaunchOptions
from tt_run.plan.model import Default, LaunchPlan

PLACEMENT_WORDS = (
    "--host",
    "-host",
    "-H",
    "--hostfile",
    "-hostfile",
    "--machinefile",
    "-machinefile",
    "--default-hostfile",
)
BINDING_WORDS = ("--bind-to", "-bind-to")
OVERSUBSCRIBE_WORDS = ("--oversubscribe", "-oversubscribe")
DEFAULT_HOSTFILES = ("PRTE_MCA_prte_default_hostfile", "OMPI_MCA_orte_default_hostfile")
EXCLUDED_INTERFACES = "docker0,lo"


class GivenWords:
    """The user's own launcher words and environment, asked what they already settle."""

    def __init__(self, words: Sequence[str], environ: Mapping[str, str]) -> None:
        self.words = words
        self.environ = environ

    def has(self, *options: str) -> bool:
        """Whether one of the options is given, also as `--option=value`."""
        return any(word.partition("=")[0] in options for word in self.words)

    def sets(self, *parameters: str) -> bool:
        """Whether an MCA parameter is set by --mca, -mca, --gmca, --mca=… or the OMPI_MCA_ variables."""
        for index, word in enumerate(self.words):
            option, _, rest = word.partition("=")
            if option not in ("--mca", "-mca", "--gmca", "-gmca", "--omca", "--prtemca"):
                continue
            name = rest if rest else (self.words[index + 1] if index + 1 < len(self.words) else "")
            if name in parameters:
                return True
        return any(
            f"{prefix}{name}" in self.environ for name in parameters for prefix in ("OMPI_MCA_", "PRTE_MCA_")
        )


def transport_defaults(
    plan: LaunchPlan, given: GivenWords, options: LaunchOptions, major: int | None
) -> list[Default]:
    """Transports that start fast: without these words MPI_Init waits one second for the ofi component.

    TCP on one host too: ranks meet what they spawn (`Comm.Spawn`) over nothing else, shared memory is of one job.
    """
    if given.sets("pml", "btl"):
        return _interface_defaults(plan, given, options)
    shared_memory = "vader" if major == 4 else "sm"
    crosses_hosts = plan.placement.is_multi_host or options.tcp_interface or given.has(*PLACEMENT_WORDS)
    words = ["--mca", "pml", "ob1", "--mca", "btl", f"self,{shared_memory},tcp"]
    if not given.sets("osc"):
        words += ["--mca", "osc", "^ucx"]
    fast = Default(tuple(words), "start in 0.2 s, not 1.2 s: MPI does not probe for other networks")
    return [fast, *(_interface_defaults(plan, given, options) if crosses_hosts else _loopback_default(given))]


_INTERFACES = ("btl_tcp_if_include", "btl_tcp_if_exclude")


def interface_is_given(mpi_args: Sequence[str]) -> bool:
    """Whether the user's own words for mpirun say over which networks it goes."""
    return GivenWords(mpi_args, {}).sets(*_INTERFACES)


def _loopback_default(given: GivenWords) -> list[Default]:
    """Open MPI 5.0.7 of Debian 13 finds no way between two ranks of one machine over its other interfaces where one has IPv6, and says so in each rank."""
    if given.sets(*_INTERFACES):
        return []
    return [Default(("--mca", "btl_tcp_if_include", "lo"), "ranks of one machine")]


def _interface_defaults(plan: LaunchPlan, given: GivenWords, options: LaunchOptions) -> list[Default]:
    if given.sets(*_INTERFACES):
        return []
    if options.tcp_interface:
        return [Default(("--mca", "btl_tcp_if_include", options.tcp_interface), "--tcp-interface")]
    if plan.placement.is_multi_host:
        words = ("--mca", "btl_tcp_if_exclude", EXCLUDED_INTERFACES)
        return [Default(words, "the same address on every host: not for traffic between hosts")]
    return []


def keepalive_defaults(plan: LaunchPlan, given: GivenWords, major: int | None) -> list[Default]:
    """A host that vanishes is noticed in 11 s, 5 + 2 * 3; Open MPI's own setting takes eight minutes."""
    if not plan.placement.hosts or major is None or given.sets("oob_tcp_keepalive_time"):
        return []
    option = "--mca" if major == 4 else "--prtemca"
    pairs = (("time", "5"), ("intvl", "2"), ("probes", "3"))
    words = tuple(word for name, value in pairs for word in (option, f"oob_tcp_keepalive_{name}", value))
    return [Default(words, "a lost host is noticed within 12 s")]


def binding_defaults(plan: LaunchPlan, given: GivenWords) -> list[Default]:
    """Ranks may use every core unless a rankfile, in whatever form, or the user binds them."""
    by_rankfile = plan.placement.rankfile is not None or given.sets("rmaps_rankfile_path")
    if given.has(*BINDING_WORDS) or by_rankfile:
        return []
    return [Default(("--bind-to", "none"), "a rank's threads may use every core")]


def oversubscribe_defaults(plan: LaunchPlan, given: GivenWords) -> list[Default]:
    """As the reference does: a rankfile that puts several ranks on a host needs it, since its --host list counts one slot each;
    and ranks that share cores, by this or by the user's own word, let each other run while they wait."""
    asked = given.has(*OVERSUBSCRIBE_WORDS)
    on_host = Counter(rank.host for rank in plan.ranks if rank.host is not None)
    crowded = plan.placement.rankfile is not None and any(count > 1 for count in on_host.values())
    if plan.defaults or not (crowded or asked):  # a repeated --host has brought the words already
        return []
    yielding = () if given.sets("mpi_yield_when_idle") else ("--mca", "mpi_yield_when_idle", "1")
    if asked:
        return [Default(yielding, "--oversubscribe: ranks share cores")] if yielding else []
    return [Default(("--oversubscribe", *yielding), "the rankfile puts several ranks on a host")]


def default_words(
    plan: LaunchPlan, machine: Machine, options: LaunchOptions, major: int | None
) -> tuple[Default, ...]:
    """Every word that tt-run adds by itself; with `--bare` only binding and sharing of cores, as in the reference."""
    given = GivenWords(plan.mpi_args, machine.environ)
    front = (*binding_defaults(plan, given), *oversubscribe_defaults(plan, given))
    if options.bare:
        return (*front, *plan.defaults)
    return (
        *front,
        *transport_defaults(plan, given, options, major),
        *keepalive_defaults(plan, given, major),
        *plan.defaults,
    )


def launcher_environment(
    plan: LaunchPlan, machine: Machine, options: LaunchOptions, major: int | None
) -> dict[str, Default]:
    """Variables that the launcher itself needs, as `Default((value,), why)` by name.

    Root must allow itself twice; more ranks than cores on this machine must be allowed too. Both are kept out of the words, so that
    the line stays the one that an ordinary user with enough cores runs.
    """
    given = GivenWords(plan.mpi_args, machine.environ)
    found: dict[str, Default] = {
        name: Default((value,), "set by the plan") for name, value in plan.launcher_env.items()
    }
    if machine.is_root and not given.has("--allow-run-as-root"):
        for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
            if machine.environ.get(name) != "1":
                found[name] = Default(("1",), "you are root, which Open MPI refuses by itself")
    if machine.home and not machine.environ.get("HOME"):
        found["HOME"] = Default((machine.home,), "it is not set, and Open MPI does not start without it")
    found |= scheduler_environment(plan, given, major)
    if slots_are_ordinals(plan) and not given.has(*BINDING_WORDS) and not options.bare:
        name = "OMPI_MCA_hwloc_base_binding_policy" if major == 4 else "PRTE_MCA_hwloc_default_binding_policy"
        if name not in machine.environ:
            found[name] = Default(
                ("none",), "slot=N counts ranks here; it is not meant to pin a rank to core N"
            )
    if _needs_more_slots(plan, given, machine):
        name, value = (
            ("OMPI_MCA_rmaps_base_oversubscribe", "1")
            if major == 4
            else ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe")
        )
        why = f"{len(plan.ranks)} ranks on {machine.cores} cores of this machine"
        if name not in machine.environ and not options.bare:
            found[name] = Default((value,), why)
            if not given.sets("mpi_yield_when_idle"):
                found["OMPI_MCA_mpi_yield_when_idle"] = Default(("1",), why)
    return found


def scheduler_environment(plan: LaunchPlan, given: GivenWords, major: int | None) -> dict[str, Default]:
    """What keeps the launcher from taking hosts from Slurm by itself where the plan says that the ranks run here."""
    in_job = "SLURM_JOBID" in given.environ or "SLURM_JOB_ID" in given.environ
    if plan.placement.hosts or not in_job or given.has(*PLACEMENT_WORDS):
        return {}
    prefix = "OMPI_MCA_" if major == 4 else "PRTE_MCA_"
    why = "the ranks run here, not on the hosts of the Slurm allocation"
    return {
        f"{prefix}{name}": Default(("^slurm",), why)
        for name in ("ras", "plm")
        if f"{prefix}{name}" not in given.environ
    }


def unwanted_hostfiles(plan: LaunchPlan, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Variables of the environment through which the launcher would find hosts that the plan does not use."""
    if plan.placement.hosts:
        return ()
    return tuple(name for name in DEFAULT_HOSTFILES if name in environ)


# What mpirun of Open MPI 4.1 tells its ranks of their job, by the beginnings of names.
_OF_A_JOB_4 = (
    *("OMPI_APP_CTX_", "OMPI_ARGV", "OMPI_COMMAND", "OMPI_COMM_WORLD_", "OMPI_FILE_LOCATION", "OMPI_FIRST_RANKS"),
    *("OMPI_NUM_APP_CTX", "OMPI_UNIVERSE_SIZE", "OMPI_MCA_ess", "OMPI_MCA_initial_wdir", "OMPI_MCA_mpi_oversubscribe"),
    *("OMPI_MCA_orte_", "OMPI_MCA_pmix", "OMPI_MCA_rmaps_base_oversubscribe", "OMPI_MCA_shmem_RUNTIME_QUERY_hint", "PMIX_"),
)  # fmt: skip


def job_around(environ: Mapping[str, str], major: int | None) -> tuple[str, ...]:
    """Variables of a job in one of whose ranks this launch is made: mpirun of Open MPI 4.1 refuses to start beside them ("recursive calls")."""
    if major != 4 or "OMPI_UNIVERSE_SIZE" not in environ:
        return ()
    return tuple(name for name in environ if name.startswith(_OF_A_JOB_4))


def slots_are_ordinals(plan: LaunchPlan) -> bool:
    """Whether the rankfile names single numbers only; a range or list of cores is meant as binding."""
    return plan.placement.rankfile is not None and all(
        rank.slot is None or rank.slot.isdigit() for rank in plan.ranks
    )


def _needs_more_slots(plan: LaunchPlan, given: GivenWords, machine: Machine) -> bool:
    settled = given.has(*PLACEMENT_WORDS, *OVERSUBSCRIBE_WORDS, "--map-by", "-map-by")
    return not settled and not plan.placement.hosts and len(plan.ranks) > machine.cores
