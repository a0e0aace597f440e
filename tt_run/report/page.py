"""A run as one HTML file: sections in order, filled or saying what would fill them. Jinja2 escapes whatever is not marked as drawn here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mgd.diagnostics import on_one_line
from mgd.drawing.palette import dark_style
from mgd.drawing.traffic import Traffic
from tt_run.report import curves, outcome, slices, surroundings, topology
from tt_run.report.sources import sources_of
from tt_run.report.words import Cleaner, data, span
from tt_run.supervise.looking.runs import Run

if TYPE_CHECKING:
    from jinja2 import Environment

_FOLDER = Path(__file__).parent


def render(run: Run, clean: Cleaner | None = None) -> bytes:
    """The page, as it is written to a file."""
    from markupsafe import Markup

    clean = clean or Cleaner()
    found = sources_of(run)
    drawn, lack = topology.pictures(found)
    recorded = slices.timeline(found, clean)
    held, left_out = curves.memory(found, clean)
    dark = dark_style() + ".halo{stroke:#0d1117}"
    text = (
        _environment()
        .get_template("page.html")
        .render(
            name=clean(run.label),
            folder=clean(on_one_line(str(run.folder.path))),
            lacks={
                "ledger": clean(found.ledger.lack),
                "timeline": clean(found.timeline.lack),
                "memory": clean(found.memory.lack),
                "prediction": clean(found.prediction.lack),
                "topology": clean(lack),
                "plan": found.lacks_plan,
            },
            outcome=outcome.outcome(found, clean),
            placement=outcome.placement(found, clean),
            pictures=[(title, Markup(svg)) for title, svg in drawn],
            collectives=topology.collectives(found, clean),
            busiest=topology.busiest(found),
            prediction=topology.prediction(found, clean),
            timeline=recorded,
            training=[(title, Markup(chart), note) for title, chart, note in curves.training(found, clean)],
            memory=[{**each, "chart": Markup(each["chart"])} for each in held],
            memory_left_out=left_out,
            environment=surroundings.environment(found, clean),
            findings=surroundings.findings(found, clean),
            data=Markup(data(recorded.drawn if recorded else None)),
            style=Markup(_file("page.css") + _dark(dark)),
            script=Markup(_file("page.js") + (_file("timeline.js") if recorded else "")),
        )
    )
    return text.encode("utf-8", "replace")


def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(traffic=Traffic().shown, span=span)
    return made


def _file(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _dark(rules: str) -> str:
    """The picture's dark colours: as the reader's system wants them unless the page was turned light, or where it was turned dark."""
    scoped = "".join(f":root.dark {rule}}}" for rule in rules.split("}") if rule)
    followed = "".join(f":root:not(.light) {rule}}}" for rule in rules.split("}") if rule)
    return f"@media screen{{{scoped}}}@media screen and (prefers-color-scheme:dark){{{followed}}}"
