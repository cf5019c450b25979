# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# Ray is only partly typed.
"""The stopper that ends a Tune experiment once its regret bound is small enough."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ray.tune import Callback, Stopper
from ray.tune.experiment import Trial
from ray.tune.search import Searcher

from regretstop import Forecast, Rule, Surrogate
from regretstop.checks import check_between
from regretstop.prose import standing
from regretstop.rules import resolve_rule
from regretstop.schedule import PROGRESS
from regretstop_ray._assess import assess, forecast_of
from regretstop_ray._certificate import TrialCertificate
from regretstop_ray._inner import searcher_in
from regretstop_ray._listener import Listener
from regretstop_ray._log import TrialLog
from regretstop_ray._logging import logger
from regretstop_ray._objective import check_objective
from regretstop_ray._record import write_record
from regretstop_ray._space import SearchSpace

_VERSION = 1
_BOUND, _LEFT, _TO_GO = "regret_bound", "regret_left", "regret_trials_to_go"


class RegretBoundStopper(Stopper, Callback):
    """Ends an experiment once a bound on how much better the optimum can still be falls below ε.

    With a `GPUCBSearch` it uses the searcher's trials and model:

        search = GPUCBSearch(seed=0)
        tuner = tune.Tuner(
            train,
            param_space=space,
            tune_config=tune.TuneConfig(metric="acc", mode="max", search_alg=search, num_samples=-1),
            run_config=tune.RunConfig(stop=RegretBoundStopper(search, epsilon=0.01)),
        )

    Beside any other search algorithm it reads the trials' results and fits its own model:

        stopper = RegretBoundStopper(space=space, metric="acc", mode="max", epsilon=0.01)
        tune.RunConfig(stop=stopper, callbacks=[stopper])

    Where the search stands is in the results of every trial, for Tune's table and TensorBoard: the latest bound as
    "regret_bound", the probability that something better by more than ε remains as "regret_left", and about how many
    more trials it takes as "regret_trials_to_go", where that is in sight; and in the log, ten times in a hundred
    trials. All certificates are written to `regret_bound.json` in the experiment's directory: by the searcher, or,
    beside another one, if the stopper is among the callbacks. `certificate_of` reads them, and names the certified
    trial.

    Only trials at full length are observations. Without `max_t` these are the trials that end by themselves; once a
    scheduler or another criterion ends one, nothing is certified until `max_t` is declared.

    In a `tune.stopper.CombinedStopper` put it first: the others are not to hide results from it.

    Args:
        search: The `GPUCBSearch` of the experiment, possibly inside a `ConcurrencyLimiter` or `Repeater`.
        epsilon: ε in the metric's units; needed unless a rule is given.
        delta: δ in (0, 1), the probability with which a bound may fail.
        rule: A stopping rule; it overrides the two numbers. `UCBbr(epsilon, delta)` if None.
        on_stop: "kill" ends running trials with the experiment. "drain" starts no further ones and lets them end,
            which needs a `GPUCBSearch`.
        max_t: Value of `time_attr` at which a trial is complete, as in Tune's schedulers.
        time_attr: Name of a result that grows while a trial runs.
        space: The search space, as for `tune.Tuner(param_space=...)`, in which categories of a `tune.choice` may hold
            domains. Like the following, it is for experiments with another search algorithm.
        metric: Name of the metric.
        mode: "min" or "max".
        surrogate: The model, by default a `regretstop.GaussianProcess` with everything estimated. Declared lengthscales
            belong to the parameters in the order of the search space.
        best_possible: The best value that the metric could ever have, such as 1.0 for an accuracy; see
            `regretstop.GPUCB`.

    Raises:
        ValueError: If an argument is out of its range, or the arguments do not go together.
    """

    def __init__(
        self,
        search: Searcher | None = None,
        epsilon: float | None = None,
        delta: float = 0.05,
        rule: Rule | None = None,
        *,
        on_stop: Literal["kill", "drain"] = "kill",
        max_t: float | None = None,
        time_attr: str = "training_iteration",
        space: Mapping[str, Any] | None = None,
        metric: str | None = None,
        mode: Literal["min", "max"] | None = None,
        surrogate: Surrogate | None = None,
        best_possible: float | None = None,
    ) -> None:
        self._rule = resolve_rule(epsilon, delta, rule)
        if on_stop not in ("kill", "drain"):
            raise ValueError(f"on_stop must be 'kill' or 'drain', got {on_stop!r}")
        if max_t is not None:
            check_between("max_t", max_t, 0)
        self._on_stop = on_stop
        # Alone, it learns of trials from their results; otherwise the searcher is told of them.
        self._is_alone = search is None
        options = {"surrogate": surrogate, "best_possible": best_possible}
        if search is not None:
            given = {"space": space, "metric": metric, "mode": mode, **options}
            unasked = [name for name, value in given.items() if value is not None]
            if unasked:
                raise ValueError(f"with a search, {', '.join(unasked)} are those of the search: leave them out")
            self._log = searcher_in(search).log
        else:
            if on_stop == "drain":
                raise ValueError("on_stop='drain' needs a GPUCBSearch: nothing else can be told to suggest no more")
            check_objective(metric, mode)
            if space is None or metric is None or mode is None:
                raise ValueError(
                    "without a GPUCBSearch, space, metric and mode must be given, got "
                    f"space={space!r}, metric={metric!r}, mode={mode!r}"
                )
            self._log = TrialLog({**options, "seed": 0}, space=SearchSpace(space), metric=metric, mode=mode)
        self._log.declare(max_t, time_attr)
        self._decision: TrialCertificate | None = None
        self._latest: TrialCertificate | None = None
        self._begin()

    def _begin(self) -> None:
        """Set what belongs to the process."""
        self._assessed_version = -1
        self._directory: str | None = None
        self._has_ended_search = False
        self._has_announced = False
        self._asked_in: int | None = None
        self._forecast: Forecast | None = None
        self._told = 0
        self._listener = Listener(self._log) if self._is_alone else None
        self._log.watchers.add(self)

    def __getstate__(self) -> dict[str, Any]:
        return {
            "version": _VERSION,
            "rule": self._rule,
            "on_stop": self._on_stop,
            "is_alone": self._is_alone,
            "log": self._log,
            "decision": None if self._decision is None else self._decision.to_dict(),
            "latest": None if self._latest is None else self._latest.to_dict(),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        if state.get("version") != _VERSION:
            raise ValueError(f"the state must have version {_VERSION}, got {state.get('version')!r}")
        self._rule, self._on_stop, self._is_alone = state["rule"], state["on_stop"], state["is_alone"]
        self._log = state["log"]
        decision, latest = state["decision"], state["latest"]
        self._decision = None if decision is None else TrialCertificate.from_dict(decision)
        self._latest = None if latest is None else TrialCertificate.from_dict(latest)
        self._begin()

    @property
    def rule(self) -> Rule:
        """The stopping rule."""
        return self._rule

    @property
    def is_alone(self) -> bool:
        """Whether another search algorithm chooses the points."""
        return self._is_alone

    @property
    def forecast(self) -> Forecast | None:
        """How many more trials it takes until the bound is below ε, as past searches went on.

        None before there are a few finite bounds, and after a stop.
        """
        return self._forecast

    @property
    def asked_in(self) -> int | None:
        """Number of the experiment of its log in which Tune asked it last, None before it did."""
        return self._asked_in

    @property
    def log(self) -> TrialLog:
        """The trials and certificates."""
        return self._log

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        """Read a result, and add to it where the search stands, if that is known. It never ends a single trial."""
        if self._listener is not None:
            self._listener.hears(trial_id, result)
        elif result.get("done"):
            self._log.ends_itself(trial_id)
        if self._latest is not None:
            result |= self._shown(self._latest)
        return False

    def _shown(self, latest: TrialCertificate) -> dict[str, float]:
        """Return what Tune's table shows, without infinities, of which TensorBoard complains."""
        shown: dict[str, float] = {}
        if math.isfinite(latest.bound):
            shown[_BOUND] = latest.bound
        if latest.left is not None:
            shown[_LEFT] = latest.left.probability
        if self._forecast is not None and self._forecast.median is not None:
            shown[_TO_GO] = self._forecast.median
        return shown

    def stop_all(self) -> bool:
        """Whether the experiment is to be ended now. Tune asks hundreds of times for every trial."""
        if self._asked_in not in (None, self._log.watchers.experiment):
            self._meet_another_experiment()
        self._asked_in = self._log.watchers.experiment
        self._assess()
        if self._decision is None:
            return False
        self._announce(self._decision)
        # Tune itself asks the searcher for no more then.
        self._has_ended_search |= self._on_stop == "kill"
        return self._on_stop == "kill"

    def ends_the_search(self) -> bool:
        """Whether no further trial is wanted; said once, so that the searcher can serve another experiment."""
        self._assess()
        if self._decision is None or self._has_ended_search:
            return False
        self._announce(self._decision)
        self._has_ended_search = True
        return True

    def setup(self, *arguments: Any, **info: Any) -> None:
        """Note that an experiment begins, if the stopper is among the callbacks."""
        self._meet_another_experiment()

    def on_trial_start(self, iteration: int, trials: Sequence[Trial], trial: Trial, **info: Any) -> None:
        """Note the configuration of a trial, if the stopper is among the callbacks."""
        if self._listener is not None:
            self._listener.begins(trial)

    def on_trial_complete(self, iteration: int, trials: Sequence[Trial], trial: Trial, **info: Any) -> None:
        """Note that Tune has ended a trial, if the stopper is among the callbacks."""
        if self._listener is not None:
            self._listener.ends(trial)

    def on_trial_error(self, iteration: int, trials: Sequence[Trial], trial: Trial, **info: Any) -> None:
        """Note that a trial has failed, if the stopper is among the callbacks."""
        if self._listener is not None:
            self._listener.fails(trial)

    def on_step_begin(self, iteration: int, trials: Sequence[Trial], **info: Any) -> None:
        """Note where the experiment keeps its files, if the stopper is among the callbacks."""
        if trials and trials[0].storage is not None:
            self._directory = trials[0].storage.experiment_driver_staging_path

    def get_state(self) -> None:
        """Write the record. Tune asks callbacks for their state when it is about to upload the experiment's files."""
        if self._directory is not None:
            write_record(self._log, self._directory)

    def _assess(self) -> None:
        """Compute a certificate if any trial has ended since the last one."""
        log = self._log
        if self._decision is not None or log.version == self._assessed_version:
            return
        self._assessed_version = log.version
        if log.mode is None or (log.n_ended == 0 and log.obstacle() is None):
            return
        self._latest = assess(log, self._rule)
        self._forecast = forecast_of(log, self._rule, own_points=not self._is_alone)
        if self._latest.stop:
            self._decision = self._latest
        elif log.obstacle() is None:
            self._tell(self._latest)

    def _tell(self, latest: TrialCertificate) -> None:
        """Log where the experiment stands, ten times in a hundred trials."""
        due = PROGRESS.due(latest.n_observations, 1).test
        if due > self._told:
            self._told = due
            phrase = standing(latest, self._forecast)
            logger.info(f"{latest.asker} after {latest.n_observations} trials: {phrase}")

    def _meet_another_experiment(self) -> None:
        self._has_ended_search = False
        if self._has_announced:
            self._has_announced = False
            logger.warning(
                "The stopper has ended an experiment before, and ends this one by the same certificate: make another "
                "stopper to begin anew."
            )

    def _announce(self, decision: TrialCertificate) -> None:
        if not self._has_announced:
            self._has_announced = True
            how = "Running trials are ended" if self._on_stop == "kill" else "Running trials may end"
            logger.info(f"The experiment stops. {how}. {decision.summary()}")
