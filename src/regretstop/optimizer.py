"""GP-UCB by ask and tell, with a certificate at any moment."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from regretstop.array import Array
from regretstop.certificate import Certificate
from regretstop.checks import as_float, check_between, check_flag
from regretstop.history import EncodedHistory, History, Observation
from regretstop.model import Drawable, GaussianProcess, LogWarp, Surrogate, constraints_of
from regretstop.propose import best_again, check_search, initial_point, next_point
from regretstop.rules import Rule, certify, check_rule
from regretstop.schedule import EVERY_OBSERVATION, Due, Schedule
from regretstop.search import NOTHING, SearchModel, Visited, exceeding_point, has_repeats, repeats_agree
from regretstop.snapshot import Beta, Setting, Snapshot, fewest_observations
from regretstop.spaces import Space, lacking

Direction = Literal["maximize", "minimize"]


class GPUCB:
    """Bayesian optimization by GP-UCB on a mixed space.

    Every decision is a function of the history, the pending points and the seed: a process that is started again
    with the same history goes on as the first would have. Not safe for concurrent calls.

    Args:
        space: The search space.
        direction: "maximize" or "minimize".
        beta: β of the acquisition μ + √β σ, as in BoTorch (4.0 is √β = 2, the paper's experiment); "theory" for the
            paper's β_t; "matched" for the width √α of the certified optimality gap, whose maximiser is the point
            that keeps the gap from closing; "calibrated", the default, for the width at which μ + √β σ is as high as f
            can still be (docs/theory.md, What is left, counted) where kernel and noise are declared, and √β = 2 where
            they are estimated. Where the kernel's slopes are not known (a surrogate of your
            own on a continuous axis), "theory" leaves out the term for them, and "matched" becomes "theory"; where its
            posterior knows no derivatives, "calibrated" is 4.0.
        exceedance: ε in the objective's units: every other point is the maximiser of a posterior path that beats the
            best trial by more than that, as long as one of 64 does. It looks where something better may be, as often
            as the model thinks so; the other points are those of `beta`. "rule" takes the ε that `ask` is given,
            but for beta="theory" and "matched", whose points are those of a proof. None for none.
        surrogate: The model: a `GaussianProcess`, by default with everything estimated, a
            `regretstop_gpytorch.GPyTorchSurrogate`, or one of your own. What does not go with the space is reported by
            the first `ask` or certificate at the latest. Where it samples its hyperparameters, points of a number or
            "theory" for β are chosen at their mode, those of exceedance sampling and beta="matched" over the samples.
        n_initial: Observations before the model is used; points of a scrambled Sobol sequence until then.
        best_possible: The best value that the objective could ever have, in its own units and direction: 1.0 for an
            accuracy, 0.0 for a loss. No bound is larger than what is left up to there, and where hyperparameters
            are estimated the model is one of a warped value (docs/theory.md, A declared range). None if none is known.
        seed: Seed of everything random; None for a fresh one.

    Raises:
        ValueError: If an argument is out of its range, or the arguments do not go together.
    """

    def __init__(
        self,
        space: Space,
        *,
        direction: Direction = "maximize",
        beta: Beta = "calibrated",
        exceedance: float | Literal["rule"] | None = "rule",
        surrogate: Surrogate | None = None,
        n_initial: int = 5,
        best_possible: float | None = None,
        seed: int | None = None,
    ) -> None:
        if direction not in ("maximize", "minimize"):
            raise ValueError(f"direction must be 'maximize' or 'minimize', got {direction!r}")
        check_search(
            beta=beta,
            exceedance=exceedance,
            surrogate=surrogate,
            n_initial=n_initial,
            best_possible=best_possible,
            seed=seed,
        )
        if not isinstance(space, Space):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"space must be a Space, got {space!r}")
        self.space = space
        sign = 1.0 if direction == "maximize" else -1.0
        ceiling = math.inf if best_possible is None else sign * float(best_possible)
        self._setting = Setting(space, sign, beta, ceiling)
        of_a_proof = exceedance == "rule" and beta in ("theory", "matched")
        self._exceedance: float | Literal["rule"] | None = None if of_a_proof else exceedance
        self._n_initial = n_initial
        self._seed = int(np.random.default_rng().integers(2**31)) if seed is None else int(seed)
        self._surrogate: Surrogate = GaussianProcess() if surrogate is None else surrogate
        if isinstance(self._surrogate, GaussianProcess):  # others may have to load a library first
            self._surrogate.n_estimated(space.categories)  # a wrong number of lengthscales is reported at once
        self._n_estimated: int | None = None
        self._history = History(space, sign, ceiling)
        self._model: tuple[EncodedHistory, SearchModel] | None = None
        # The last test of each rule, by its repr; rules with a function that look alike need not be equal.
        self._tests: dict[str, tuple[Rule, EncodedHistory, Certificate]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_tests": {}}  # of rules with functions, which cannot all be pickled

    @property
    def direction(self) -> Direction:
        """Whether values are maximised or minimised."""
        return "maximize" if self._setting.sign > 0 else "minimize"

    @property
    def needs_epsilon(self) -> bool:
        """Whether the ε that `ask` is given changes what it returns."""
        return self._exceedance == "rule"

    @property
    def history(self) -> tuple[Observation, ...]:
        """The observations in order."""
        return self._history.observations

    def ask(self, *, epsilon: float | None = None) -> dict[str, Any]:
        """Return the next parameters to evaluate; they stay pending until they are told.

        Args:
            epsilon: ε of the rule that is to end the search, in the objective's units, for exceedance="rule"; None
                where no rule is, or its bound is not on the regret.

        Raises:
            ValueError: If ε is not positive and finite, or the surrogate does not go with the space.
        """
        if epsilon is not None:
            check_between("epsilon", epsilon, 0)
        self._count_estimated()
        data, pending = self._history.encoded, self._history.pending_points()
        failed, pruned = self._history.failed_points(), self._history.pruned_points()
        tried = np.vstack([data.points, failed, pruned, pending])
        visited = Visited(tried)
        few = lacking(self.space, np.vstack([data.points, pruned, pending]), self._count_estimated(), failed)
        too_few = len(data.values) + len(pending) < self._n_initial or len(data.values) == 0
        # Of equal values alone a model says that it is unsure at the corners first.
        if too_few or few is not None or not self._fit(data).fit.data.has_spread:
            index = self._history.n_observations + self._history.n_pending
            branch = None if few is None or too_few else few.branch
            point = initial_point(self.space, visited, index, self._seed, branch)
        else:
            exceedance = epsilon if self._exceedance == "rule" else self._exceedance
            again = None
            if exceedance is not None and not has_repeats(tried):
                again = best_again(self._fit(data), data, exceedance)
            unvalued = np.vstack([pending, pruned])
            point = self._next_point(data, failed, unvalued, visited, exceedance) if again is None else again
        params = self.space.decode(point)
        self._history.begin(dict(params))  # who asked may take it apart
        return params

    def tell(
        self,
        params: Mapping[str, Any],
        value: float | None,
        *,
        feasible: bool = True,
        constraints: Sequence[float] | None = None,
    ) -> None:
        """Record an evaluation of any point, asked for or not.

        Args:
            params: The parameters. A point outside the space's ranges is fitted, but never recommended; one that
                cannot be encoded (a missing parameter, an unknown category) is recorded and left out of the fit.
            value: The observed value. None, NaN and infinities are recorded and left out of the fit (see
                Observation).
            feasible: Whether the constraints of the search were met: if not, the value is fitted, and never certified.
            constraints: Values of the constraints, each met where it is at most 0. Where some were not, they are
                modelled: points that are feasible are preferred, and what is surely infeasible leaves the bound.

        Raises:
            ValueError: If the value is neither None nor a number, a constraint is none, or feasible is no bool.
        """
        number = None if value is None else as_float("value", value)
        check_flag("feasible", feasible)
        try:
            known = None if constraints is None else tuple(as_float("constraints", each) for each in constraints)
        except TypeError as error:
            raise ValueError(f"constraints must be a sequence of numbers, got {constraints!r}") from error
        if known is not None and any(map(math.isnan, known)):
            raise ValueError(f"constraints must not be NaN, got {known!r}")
        met = feasible and (known is None or all(each <= 0.0 for each in known))
        self._history.end(dict(params), number, feasible=bool(met), constraints=known)

    def replace_history(self, observations: Sequence[Observation], pending: Sequence[Mapping[str, Any]] = ()) -> None:
        """Take over the history that a framework holds.

        Args:
            observations: All evaluations, in an order that does not depend on who asks; certificates name them by
                their numbers.
            pending: Points that are being evaluated.
        """
        self._history.replace(observations, pending)

    def certificate(self, rule: Rule) -> Certificate:
        """Return what the rule can say now, from the completed observations alone.

        That is the last test due by the rule's schedule; until the next one it comes back as it was, for nothing. A
        rule without a bound looks at every evaluation; when it stops, what the model says stands beside it.

        Raises:
            ValueError: If it is no rule, or a value is better than the best possible one.
        """
        check_rule(rule)
        data = self._history.encoded
        return certify(
            rule,
            self._history.observations,
            self._setting.sign,
            n_fitted=len(data.values),
            test=self._tested,
            look=self.snapshot,
        )

    def _tested(self, rule: Rule) -> Certificate:
        """Return the last test of a single rule that is due by its schedule."""
        data, due = self._due(rule.schedule)
        known = self._tests.get(repr(rule))
        if known is not None and known[0] == rule and known[1].fits_as(data):
            return replace(known[2], data=replace(known[2].data, n_excluded=data.n_excluded))
        try:
            certificate = rule.assess(self._snapshot(rule.schedule, data, due))
        except np.linalg.LinAlgError as error:  # what rounding leaves undecided is no bound
            certificate = rule.undecided(
                f"the model could not be computed: {error}",
                n_observations=len(data.values),
                n_excluded=data.n_excluded,
                guarantee=self._surrogate.guarantee,
            )
        if due.test:
            self._tests[repr(rule)] = rule, data, certificate
        return certificate

    def snapshot(self, schedule: Schedule = EVERY_OBSERVATION) -> Snapshot:
        """Return the data and the model as a rule sees them.

        Args:
            schedule: The rule's: the observations are those that the last test due by it sees.
        """
        return self._snapshot(schedule, *self._due(schedule))

    def _due(self, schedule: Schedule) -> tuple[EncodedHistory, Due]:
        """Return the last test that is due, and the observations that it sees: all of them before the first test."""
        data = self._history.encoded
        due = schedule.due(len(data.values), fewest_observations(self._count_estimated()))
        return data.first(due.n_observations) if due.test else data, due

    def _snapshot(self, schedule: Schedule, data: EncodedHistory, due: Due) -> Snapshot:
        return self._setting.taken(
            data,
            self._fit,
            schedule=schedule,
            due=due,
            guarantee=self._surrogate.guarantee,
            n_estimated=self._count_estimated(),
            observations=self._history.observations,
        )

    def _count_estimated(self) -> int:
        """Return how many numbers the surrogate estimates in this space, which is also the check of the two."""
        if self._n_estimated is None:
            self._n_estimated = self._surrogate.n_estimated(self.space.categories)
        return self._n_estimated

    def _fit(self, data: EncodedHistory) -> SearchModel:
        if self._model is not None and self._model[0].fits_as(data):
            return self._model[1]
        categories, values = self.space.categories, data.values
        warp: LogWarp | None = None
        if math.isfinite(self._setting.ceiling) and isinstance(self._surrogate, GaussianProcess):
            warp = self._surrogate.warp(data.points, values, categories=categories, best=self._setting.ceiling)
        values = values if warp is None else warp(values)
        fit = self._surrogate.fit(data.points, values, categories=categories, sign=self._setting.sign)
        fit = replace(fit, data=replace(fit.data, warp=warp))
        model = SearchModel.of(fit, self.space, data.points[data.inside], self._seed)
        if isinstance(model.chooser.posterior, Drawable):
            constraints = constraints_of(data.points, data.constraints, categories)
            model = replace(model, constraints=constraints, found=bool(np.any(data.inside & data.feasible)))
        if data is self._history.encoded:
            self._model = data, model
        return model

    def _next_point(
        self, data: EncodedHistory, failed: Array, unvalued: Array, visited: Visited, exceedance: float | None
    ) -> Array:
        needs_all = self._setting.beta == "matched" or exceedance is not None
        model = self._fit(data).keeping_away(failed, unvalued, all_posteriors=needs_all)
        if self._setting.beta not in ("theory", "matched"):  # whose points are those of a proof about the whole space
            model = model.steered
        repeats = model.has_noise and not repeats_agree(data.points, data.values)
        n_ended, n_pending = self._history.n_observations, self._history.n_pending
        if exceedance is not None and (n_ended + n_pending) % 2:
            rng = np.random.default_rng([self._seed, n_ended, n_pending])
            units, closed = model.fit.data.units, NOTHING if repeats else visited
            recommendable = data.points[data.inside & data.feasible]
            point = exceeding_point(model.maximizers, recommendable, lambda at: units.gap(at, exceedance), rng, closed)
            if point is not None:
                return point
        return next_point(model, self._setting.beta, len(data.values), self.snapshot, visited, repeats=repeats)
