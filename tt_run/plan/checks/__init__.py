"""The joint check: do descriptor, bindings, hosts, devices, program and launcher fit together? Every violation at once."""

from __future__ import annotations

from tt_run.inputs.findings import Findings
from tt_run.plan.checks.devices import check_devices
from tt_run.plan.checks.environment import check_environment
from tt_run.plan.checks.hardware import check_hardware
from tt_run.plan.checks.hosts import check_hosts
from tt_run.plan.checks.launcher import check_launcher
from tt_run.plan.checks.losses import check_losses
from tt_run.plan.checks.meshes import check_meshes
from tt_run.plan.checks.program import check_program
from tt_run.plan.checks.rankfile import check_rankfile
from tt_run.plan.checks.shell import check_shell
from tt_run.plan.checks.subject import Subject
from tt_run.plan.checks.training import check_training

__all__ = ["CHECKS", "Subject", "joint_check"]

CHECKS = (
    check_meshes,
    check_devices,
    check_environment,
    check_shell,
    check_rankfile,
    check_hosts,
    check_program,
    check_training,
    check_hardware,
    check_losses,
    check_launcher,
)


def joint_check(subject: Subject, findings: Findings) -> None:
    """Records everything that does not fit, in the order of the inputs: descriptor first, launcher last."""
    for check in CHECKS:
        check(subject, findings)
