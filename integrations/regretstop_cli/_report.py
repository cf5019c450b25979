"""The report: one file, with its pictures in it."""

import base64
import io
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, get_args

from jinja2 import Environment, PackageLoader, StrictUndefined

from regretstop.plotting import Theme, bound_history, bound_parts, draw_matplotlib, optimum
from regretstop_cli._answer import Answer

# In dots per inch, of figures eight or ten inches wide: sharp on most screens, and some 60 kB each.
_RESOLUTION = 120


@dataclass(frozen=True)
class Picture:
    """A plot on both grounds.

    Attributes:
        title: What it shows.
        words: What a reader has to know of it.
        light: As a data URL.
        dark: Likewise.
        missing: Why there is none, in words; empty where there is.
    """

    title: str
    words: str
    light: str = ""
    dark: str = ""
    missing: str = ""


def report(answer: Answer) -> str:
    """Return the report as HTML that needs nothing else: no script, and nothing from a network."""
    # Whatever comes from a study, such as the name of a parameter, is escaped.
    environment = Environment(loader=PackageLoader("regretstop_cli", "."), autoescape=True, undefined=StrictUndefined)
    now = answer.replay.certificates[-1]
    stop = answer.replay.stop
    trials = {o.number: o for o in answer.replay.observations}
    shown: list[tuple[str, Any]] = []
    if stop is not None:
        shown.append(("certified at the stop", answer.replay.certificates[stop - 1]))
    shown.append(("certified now", now))
    return environment.get_template("report.html").render(
        title=f"{answer.search.name}: could it have stopped?",
        rows=answer.rows(),
        certificates=[(f"{words[0].upper()}{words[1:]}", str(certificate)) for words, certificate in shown],
        trials=[(words, trials[c.incumbent]) for words, c in shown if c.incumbent is not None],
        pictures=_pictures(answer),
    )


def _pictures(answer: Answer) -> list[Picture]:
    found, name = answer.replay, answer.search.objective

    def history(theme: Theme) -> Any:
        return draw_matplotlib.regret_bound(replace(bound_history(found), objective=name), theme=theme).figure

    def left(theme: Theme) -> Any:
        return draw_matplotlib.probability_left(bound_history(found), theme=theme).figure

    def parts(theme: Theme) -> Any:
        return draw_matplotlib.bound_parts(bound_parts(found), theme=theme).figure

    def where(theme: Theme) -> Any:
        return draw_matplotlib.optimum(replace(optimum(found), objective=name), theme)

    return [
        _picture(
            "The bound", "After the stop the rule was asked now and then only, since nothing is decided.", history
        ),
        _picture("What is left", "Estimated given the fitted model.", left),
        _picture("Where the optimum can still be", "Maximisers of draws of the model that all trials give.", where),
        _picture("What the bound is made of", "Shares, and in the legend the sizes in the end.", parts),
    ]


def _picture(title: str, words: str, draw: Callable[[Theme], Any]) -> Picture:
    try:
        urls = {theme: _data_url(draw(theme)) for theme in get_args(Theme)}
    except ValueError as error:
        return Picture(title, words, missing=str(error))
    return Picture(title, words, urls["light"], urls["dark"])


def _data_url(figure: Any) -> str:
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=_RESOLUTION, metadata={"Software": None})
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
