"""What is answered about a search that is over, as numbers and in sentences."""

import math
from dataclasses import dataclass
from typing import Any

from regretstop import Replay, Rule
from regretstop.prose import rounded_up
from regretstop_cli._sources import Search


@dataclass(frozen=True)
class Answer:
    """What is answered about a search that is over.

    Attributes:
        search: The search.
        rule: The rule that was asked.
        replay: What it would have said.
    """

    search: Search
    rule: Rule
    replay: Replay

    @property
    def n_trials(self) -> int:
        """How many trials have ended."""
        return len(self.replay.observations)

    def rows(self) -> list[tuple[str, str]]:
        """Return question and answer, in order."""
        found = self.replay
        now = found.certificates[-1]
        rule = f"{type(self.rule).__name__}, ε = {self.rule.epsilon:.4g}, δ = {self.rule.delta:.4g}"
        rows = [
            ("Search", f"{self.search.name}: {self.n_trials} trials, to {found.direction} {self.search.objective}"),
            ("Rule", rule),
            ("Now", self._said(len(found.certificates))),
        ]
        if found.stop is None:
            why = "" if math.isfinite(now.bound) else f": {now.reason}"
            never = ("It would have stopped", f"never{why}")
            forecast = found.forecast
            return [*rows, never, *([] if forecast is None else [("It would take", str(forecast))]), *self._notes()]
        share = found.n_saved / self.n_trials
        saved = f"{found.n_saved} of {self.n_trials} trials ({share:.0%})"
        if found.seconds_saved is not None and math.fsum(found.seconds) > 0.0:
            total = math.fsum(found.seconds)
            saved += f", {duration(found.seconds_saved)} of {duration(total)} of their running time"
        number = found.observations[found.stop - 1].number
        return [
            *rows,
            ("It would have stopped", f"after {found.stop} trials (trial {number}): {self._said(found.stop)}"),
            ("That would have saved", saved),
            ("Found after it", self._found_later()),
            *self._notes(),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as strict JSON."""
        found = self.replay
        stop = None
        if found.stop is not None:
            stop = {
                "after": found.stop,
                "trial": found.observations[found.stop - 1].number,
                "certificate": found.certificates[found.stop - 1].to_dict(),
            }
        return {
            "version": 1,
            "search": self.search.name,
            "direction": found.direction,
            "rule": type(self.rule).__name__,
            "epsilon": self.rule.epsilon,
            "delta": self.rule.delta,
            "n_trials": self.n_trials,
            "certificate": found.certificates[-1].to_dict(),
            "stop": stop,
            "forecast": None if found.forecast is None else found.forecast.to_dict(),
            "n_saved": found.n_saved,
            "seconds": math.fsum(found.seconds) if found.seconds else None,
            "seconds_saved": found.seconds_saved,
            "found_later": found.found_later,
            "notes": list(self.search.notes),
        }

    def _said(self, n: int) -> str:
        certificate = self.replay.certificates[n - 1]
        if not math.isfinite(certificate.bound):
            return f"nothing is certified: {certificate.reason}"
        about = {"regret": "the optimum is at most {} better than trial {}"}.get(
            certificate.measure, f"{certificate.measure} {{}}, at trial {{}}"
        )
        worth = {
            "heuristic": "an estimate, no proof",
            "model": "proved given the fitted model",
            "theorem": "proved",
        }[certificate.guarantee]
        return f"{about.format(rounded_up(certificate.bound), certificate.incumbent)} ({worth})"

    def _found_later(self) -> str:
        later = self.replay.found_later or 0.0
        if later == 0.0:
            return "nothing better"
        if later > self.rule.tolerance:
            return (
                f"a value better by {later:.4g}, which is more than ε: the stop would have been wrong, unless the "
                "objective's noise is as large"
            )
        return f"a value better by {later:.4g}, which is within ε"

    def _notes(self) -> list[tuple[str, str]]:
        return [("Note", note) for note in self.search.notes]


def duration(seconds: float) -> str:
    """Return a duration in the two largest of its units."""
    if seconds < 60.0:
        return f"{seconds:.3g} s"
    minutes = round(seconds / 60.0)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min"
    return f"{hours // 24} d {hours % 24} h"
