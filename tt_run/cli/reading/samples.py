"""A value of each option that can be typed as it stands, for hints about options that have lost theirs."""

from __future__ import annotations

from tt_run.cli.reading.options import Option

_BY_NAME = {
    "--rank-binding": "t3k_2x4_two_hosts",
    "--mesh-graph-descriptor": "t3000",
    "--mock-cluster-rank-binding": "t3000_two_ranks",
    "--system": "t3000",
    "--hang-timeout": "60",
    "--log-dir": "logs",
    "--record": "rec",
    "--to": "examples",
    "--inject": "kill=rank:1,call=2",
    "--report": "report.html",
    "--explain": "TTR204",
}
_BY_FORM = {
    "A:2,B:2": "a:2,b:2",
    "SECONDS": "60",
    "MODULES": "numpy",
    "RANK": "1",
    "RANK:PORT": "1:5678",
    "N": "1",
    "RxC": "1x2",
}


def sample(option: Option) -> str:
    """A value that the option takes; its form, such as FILE, where only the user knows one."""
    if option.name in _BY_NAME:
        return _BY_NAME[option.name]
    if isinstance(option.kind, tuple):
        return option.kind[0]
    if option.endings:
        return f"{option.name.strip('-')}{option.endings[0]}"
    return _BY_FORM.get(option.metavar, option.metavar)
