"""The callback that ends a study once its regret bound is small enough."""

import contextlib
import threading
from typing import Any

from optuna.study import Study
from optuna.trial import FrozenTrial

from regretstop import Rule, Surrogate
from regretstop.rules import Epsilon, resolve_rule
from regretstop_optuna._logging import logger
from regretstop_optuna._models import Models
from regretstop_optuna._storage import reading_errors
from regretstop_optuna.check import check_study
from regretstop_optuna.decision import decide, models_of


class RegretBoundCallback:
    """Stops a study once a bound on how much better the optimum can still be falls below ε.

    What the bound is worth stands in the certificate: with the default rule it is proved given the fitted model
    (`docs/guide.md`).

        study = optuna.create_study(sampler=GPUCBSampler(seed=0))
        study.optimize(objective, n_trials=256, callbacks=[RegretBoundCallback(epsilon=0.01)])

    It works with any sampler, any number of threads, and several processes on one storage: the
    decision is stored in the study, and every worker ends after its current trial. So are the latest
    certificate of each rule and a short history of the bounds, for `certificate_of` and
    `plot_regret_bound`: two attributes and one for each decision, however many trials there are. A
    storage that refuses a write, or cannot be read, ends no worker: a warning says so once, and it is
    tried again after the next trial. A stored decision counts later on only if it satisfies the rule,
    ε and δ of that time, and if no trial since is better than it allows. To spend no trial at all on
    a study that is already certified, ask `should_stop` before `optimize`.

    Failed, pruned and infinite trials are no observations. The branches of a conditional study are
    inferred from its trials (`docs/guide.md`). One with parameters or ranges that no categorical
    parameter or short integer explains, or with a value of such a one that no trial has tried, is
    not certified; the reason is logged once and stands in the certificate, and the study runs on.
    With constraints, `constraints_func` of any sampler or `Trial.set_constraint`, only a feasible
    trial is certified; where some were violated they are modelled, and the bound is on the optimum
    of what is feasible.

    Coming from `optuna.terminator.TerminatorCallback`, which is deprecated: say with ε, in the
    objective's own units, what the terminator estimated as the statistical error, or have it
    estimated: `epsilon="standard error"`, with `report_cross_validation_scores` of this package.
    `min_n_trials` has no counterpart: with too few trials the bound is infinite. `plot_terminator_improvement` becomes
    `plot_regret_bound`, which shows the stored bounds, and so what was decided, instead of
    computing them anew.

    Args:
        epsilon: ε in the objective's units; needed unless a rule is given. "standard error" is that of the best trial's
            cross-validation scores at each test, as `report_cross_validation_scores` stores them.
        delta: δ in (0, 1), the probability with which a bound may fail.
        rule: A stopping rule; it overrides the two numbers. `UCBbr(epsilon, delta)` if None.
        surrogate: The model, by default a `regretstop.GaussianProcess` with everything estimated. Declared lengthscales
            belong to the parameters in alphabetical order. It is for studies with another sampler than
            `GPUCBSampler`, which lends its own model.
        best_possible: The best value that the objective could ever have, such as 1.0 for an accuracy; see
            `regretstop.GPUCB`. Beside a `GPUCBSampler` give it to that.

    Raises:
        ValueError: If an argument is out of its range; on the first call if the study has several
            objectives, of which `check_study` tells before the first trial.
    """

    def __init__(
        self,
        *,
        epsilon: Epsilon | None = None,
        delta: float = 0.05,
        rule: Rule | None = None,
        surrogate: Surrogate | None = None,
        best_possible: float | None = None,
    ) -> None:
        self._rule = resolve_rule(epsilon, delta, rule, has_scores=True)
        self._models = Models(surrogate=surrogate, best_possible=best_possible, seed=0)
        self._announced = False
        self._has_warned = False
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()

    def __call__(self, study: Study, trial: FrozenTrial) -> None:
        """Assess the study after a trial, and stop it if it is good enough.

        Up to `n_jobs` threads call at once: one of them decides, the others find the decision.
        """
        check_study(study)
        with self._lock:
            if not self._is_decided(study, trial.number):
                return
        # Outside `optimize` there is no loop to stop; the loop's owner asks `should_stop`.
        with contextlib.suppress(RuntimeError):
            study.stop()

    def _is_decided(self, study: Study, trial: int) -> bool:
        lent, own = models_of(study), self._models.options["best_possible"]
        if lent is not None and own not in (None, lent.options["best_possible"]):
            raise ValueError(
                f"best_possible is {own!r} here and {lent.options['best_possible']!r} in the GPUCBSampler, whose model "
                "is used: give it to the sampler"
            )
        try:
            decision = decide(study, self._rule, lent or self._models, trial)
        except reading_errors() as error:
            # Others may keep a database locked for longer than this worker waits. The next call sees what was missed.
            if not self._has_warned:
                self._has_warned = True
                logger.warning(f"The study could not be read after trial {trial}, and is not assessed there: {error}")
            return False
        if decision.is_standing and not self._announced:
            logger.info(f"The study stops as decided before: {decision.certificate.summary()}")
        self._announced |= decision.certificate.stop
        return decision.certificate.stop
