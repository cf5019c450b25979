"""The callback that ends a search once its regret bound is small enough."""

import logging
import math
import sys
import time
from dataclasses import replace
from typing import Any

from regretstop import GPUCB, Certificate, Forecast, Observation, Rule, Space, Surrogate, forecast
from regretstop.propose import check_search
from regretstop.prose import standing
from regretstop.rules import resolve_rule
from regretstop.schedule import PROGRESS
from regretstop.spaces import Parameter
from regretstop_skopt._result import names_of, observations_of, parameters_of

logger = logging.getLogger("regretstop_skopt")


class RegretBoundStopper:
    """Stops a search once a bound on how much better the optimum can still be falls below ε.

    What the bound is worth stands in the certificate: with the default rule it is proved given the fitted model
    (`docs/guide.md`).

        result = gp_minimize(f, dimensions, n_calls=200, callback=RegretBoundStopper(epsilon=0.01))

        while not stopper(optimizer.tell(x, f(x))):   # x from optimizer.ask()
            ...

        search.fit(X, y, callback=RegretBoundStopper(epsilon=0.01))    # search is a BayesSearchCV

    It fits a model of its own to `x_iters` and `func_vals`, so any optimizer will do, points given as `x0` and `y0`
    count in full, and the search draws the same points as without it. scikit-optimize calls it after the first batch
    of given points: a search that is already good enough then ends with no new evaluation.

    A call with a longer history assesses it anew, whatever was decided before; one with the same history costs
    nothing. When the space changes, or the history does not go on from the one before, another search has begun and
    everything starts afresh: each of the spaces of a `BayesSearchCV` is certified, and stopped, on its own. Given δ/k,
    the stops of k spaces together certify their union at δ (`docs/guide.md`).

    Values are taken as scikit-optimize holds them, to be minimised. For `BayesSearchCV` they are minus the scores, so
    ε is in units of the score, and `certificate.incumbent_value` is minus the score: a result does not tell where it
    comes from. `certificate.incumbent` is an index into `x_iters`.

    Evaluations that are not finite are left out. A search that cannot be modelled gets an infinite bound with the
    reason, says so once as a warning, and goes on. With a `space_constraint` the bound is about the whole box, and so
    about the part of it that is allowed, in which every evaluation lies; it is seldom small.

    With `verbose=True` it prints where the search stands after each call, as scikit-optimize does with its own
    `verbose`; the log has it ten times in a hundred evaluations in any case.

    It can be pickled and copied at any time, as `CheckpointSaver` and a fitted `BayesSearchCV` do.

    Args:
        epsilon: ε in the objective's units; needed unless a rule is given.
        delta: δ in (0, 1), the probability with which a bound may fail.
        rule: A stopping rule; it overrides the two numbers. `UCBbr(epsilon, delta)` if None.
        surrogate: The model, by default a `regretstop.GaussianProcess` with everything estimated. Declared lengthscales
            belong to the dimensions that vary, in the order of `result.space` (alphabetical for `BayesSearchCV`), and a
            declared mean is that of what is minimised.
        best_possible: The least value that the objective could ever have, as scikit-optimize holds it: 0.0 for a loss,
            and -1.0 for the accuracy of a `BayesSearchCV`; see `regretstop.GPUCB`.
        verbose: Whether to print where the search stands.

    Raises:
        ValueError: If an argument is out of its range.
    """

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float = 0.05,
        rule: Rule | None = None,
        *,
        surrogate: Surrogate | None = None,
        best_possible: float | None = None,
        verbose: bool = False,
    ) -> None:
        self._rule = resolve_rule(epsilon, delta, rule)
        self._verbose = verbose
        self._options: dict[str, Any] = {
            "surrogate": surrogate,
            "best_possible": best_possible,
            "seed": 0,  # the same data give the same certificate; the search's own generator is never touched
        }
        check_search(**self._options)
        self._called: float | None = None
        self._start([], {}, None)

    def __getstate__(self) -> dict[str, Any]:
        # Whoever reads this may do so tomorrow: nothing ran in between.
        return {**self.__dict__, "_called": None}

    @property
    def certificate(self) -> Certificate | None:
        """The latest certificate; None before the first call."""
        return self.certificates[-1] if self._certificates else None

    @property
    def forecast(self) -> Forecast | None:
        """How many more evaluations it takes until the bound is below ε, as past searches went on.

        None before there are a few finite bounds, and after a stop.
        """
        return forecast(self.certificates, own_points=False)

    @property
    def certificates(self) -> list[Certificate]:
        """The certificates of the current search, one for each call that brought evaluations."""
        return list(self._certificates.values())

    @property
    def certificates_after(self) -> dict[int, Certificate]:
        """The same by the number of evaluations that there were; one that a schedule delays is about fewer of them."""
        return dict(self._certificates)

    @property
    def model(self) -> GPUCB | None:
        """The model of the current search; None where there is none yet, or it cannot be modelled."""
        return self._model

    @property
    def observations(self) -> list[Observation]:
        """The evaluations of the current search, as of the last call."""
        return list(self._observations)

    def __call__(self, result: Any) -> bool:
        """Return whether the search is good enough.

        Args:
            result: What scikit-optimize hands to a callback, and what `Optimizer.tell` returns. It is only read.
        """
        names, obstacle = names_of(result.space.dimensions), None
        parameters: dict[str, Parameter] = {}
        try:
            parameters = parameters_of(result.space.dimensions)
        except ValueError as error:
            obstacle = str(error)
        observations = observations_of(result)
        if not (names == self._names and parameters == self._parameters and self._goes_on(observations)):
            self._start(names, parameters, obstacle)
        previous = self.certificate
        if previous is not None and len(observations) == len(self._observations):
            return previous.stop
        self._observations = self._timed(observations)
        certificate = self._certify()
        self._certificates[len(observations)] = certificate
        if certificate.stop and not (previous is not None and previous.stop):
            logger.info(f"The search stops: {certificate.summary()}")
        if self._obstacle is None:
            self._tell(certificate)
        return certificate.stop

    def _tell(self, certificate: Certificate) -> None:
        """Say where the search stands."""
        due = PROGRESS.due(certificate.n_observations, 1).test
        is_due = due > self._told and not certificate.stop
        if not (is_due or self._verbose):
            return
        said = f"{certificate.asker} after {certificate.n_observations} evaluations: "
        said += standing(certificate, self.forecast)
        if is_due:
            self._told = due
            logger.info(said)
        if self._verbose:
            _print(said)

    def _timed(self, observations: list[Observation]) -> list[Observation]:
        """Return the observations with the times between calls: scikit-optimize records none."""
        before, self._called = self._called, time.time()
        span = None if before is None else (before, self._called)
        n_known = len(self._observations)
        new = [replace(observation, span=span) for observation in observations[n_known:]]
        return [*self._observations, *new]

    def _start(self, names: list[str], parameters: dict[str, Parameter], obstacle: str | None) -> None:
        self._names = names
        self._parameters = parameters
        self._obstacle = obstacle
        if obstacle is None and all(parameter.count == 1 for parameter in parameters.values()):
            self._obstacle = "the search has no dimension that varies"
        self._model: GPUCB | None = None
        self._observations: list[Observation] = []
        self._certificates: dict[int, Certificate] = {}
        self._warned = False
        self._told = 0

    def _goes_on(self, observations: list[Observation]) -> bool:
        """Return whether the history goes on from the one that was assessed last."""
        known = self._observations
        return len(observations) >= len(known) and all(map(Observation.same_as, known, observations))

    def _certify(self) -> Certificate:
        obstacle = self._obstacle
        if obstacle is None:
            try:
                if self._model is None:
                    self._model = GPUCB(Space(self._parameters), direction="minimize", **self._options)
                self._model.replace_history(self._observations)
                return self._model.certificate(self._rule)
            except (ArithmeticError, ValueError) as error:
                # A numerical accident must not end a search that is going well.
                obstacle = f"the model could not be fitted: {error}"
        if not self._warned and self._rule.claims:
            self._warned = True
            logger.warning(f"No regret bound for the search: {obstacle}. It runs on.")
        n = sum(o.value is not None and math.isfinite(o.value) for o in self._observations)
        return self._rule.without_model(obstacle, self._observations, -1.0, n_observations=n)


def _print(words: str) -> None:
    """Print, with a mark in place of what the terminal cannot show: a search must not end by it."""
    try:
        print(words)
    except UnicodeEncodeError:
        encoding = sys.stdout.encoding
        print(words.encode(encoding, "replace").decode(encoding))
