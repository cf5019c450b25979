# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
# Ray is only partly typed.
"""GP-UCB as a searcher of Ray Tune."""

import pickle
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from ray import cloudpickle
from ray.tune.result import DEFAULT_METRIC
from ray.tune.search import UNDEFINED_METRIC_MODE, UNDEFINED_SEARCH_SPACE, Searcher
from ray.tune.utils import merge_dicts

from regretstop import Space, Surrogate
from regretstop.spaces import sobol_points
from regretstop_ray._given import check_names
from regretstop_ray._log import TrialLog
from regretstop_ray._logging import logger
from regretstop_ray._missing import warn_without_values
from regretstop_ray._objective import check_objective, check_same, check_state, time_in, value_in
from regretstop_ray._paths import unresolved
from regretstop_ray._record import write_record
from regretstop_ray._space import SearchSpace
from regretstop_ray._trial import span_of


class GPUCBSearch(Searcher):
    """Suggests the maximiser of an upper confidence bound, μ + √β σ, of a Gaussian process.

    Give it to `tune.TuneConfig(search_alg=...)`, and to a `RegretBoundStopper` that ends the experiment.

    Trials that are still running keep later ones away from their points, so it needs no limit of concurrency. Trials
    that fail, or whose metric is missing or not finite, are never fitted, but the search moves on from where they
    were; so it does from trials that a scheduler cut short.

    Args:
        space: A search space as for `tune.Tuner(param_space=...)`; taken from there if None. Categories of a
            `tune.choice` may hold domains, as in a dict for each model: these are parameters only where it is chosen.
        metric: Name of the metric; taken from `tune.TuneConfig` if None.
        mode: "min" or "max"; taken from `tune.TuneConfig` if None.
        points_to_evaluate: Configurations to try first, nested as in the search space or with keys joined by "/", such
            as the best one of another experiment. The search chooses the parameters that one lacks. Constants of the
            search space may stand there as they are.
        evaluated_rewards: Their metric, where it is known: then they are not run again, and each needs a value for
            every parameter that its categories have.
        beta: β of the acquisition μ + √β σ (4.0: two deviations), "theory", "matched" or "calibrated"; see
            `regretstop.GPUCB`.
        exceedance: ε in the units of the objective, or "rule" for that of its stopper: every other point
            is sought where something better by more than ε may still be; see `regretstop.GPUCB`. None for none, as
            "rule" also is beside beta="theory" or "matched".
        seed: Seed of everything random; None for a fresh one.
        n_initial_points: Trials before the model is used; they follow a scrambled Sobol sequence.
        surrogate: The model, by default a `regretstop.GaussianProcess` with everything estimated. Declared lengthscales
            belong to the parameters in the order of the search space.
        best_possible: The best value that the objective could ever have, such as 1.0 for an accuracy; see
            `regretstop.GPUCB`.

    Raises:
        ValueError: If an argument is out of its range, or the arguments do not go together.
    """

    def __init__(
        self,
        space: Mapping[str, Any] | None = None,
        metric: str | None = None,
        mode: Literal["min", "max"] | None = None,
        points_to_evaluate: Sequence[Mapping[str, Any]] | None = None,
        evaluated_rewards: Sequence[float] | None = None,
        *,
        beta: float | Literal["theory", "matched", "calibrated"] = "calibrated",
        exceedance: float | Literal["rule"] | None = "rule",
        seed: int | None = None,
        n_initial_points: int = 5,
        surrogate: Surrogate | None = None,
        best_possible: float | None = None,
    ) -> None:
        check_objective(metric, mode)
        super().__init__(metric=metric, mode=mode)
        # A restored searcher builds its model anew, and should go on as the first would have.
        self._seed = int(np.random.default_rng().integers(2**31)) if seed is None else seed
        options = {
            "beta": beta,
            "exceedance": exceedance,
            "surrogate": surrogate,
            "n_initial": n_initial_points,
            "best_possible": best_possible,
            "seed": self._seed,
        }
        # With its constants, which the log has no need of.
        self._spec = None if space is None else dict(space)
        given = None if space is None else SearchSpace(space)
        self.log = TrialLog(options, space=given, metric=metric, mode=mode)
        # Those of the search that a state is from, on which its certificates depend: this one keeps its own.
        self.restored_options: Mapping[str, Any] | None = None
        self._to_evaluate = [dict(point) for point in points_to_evaluate or ()]
        self._rewards = None if evaluated_rewards is None else list(evaluated_rewards)
        if self._rewards is not None and len(self._rewards) != len(self._to_evaluate):
            raise ValueError(
                f"evaluated_rewards must have one number for each of the {len(self._to_evaluate)} points_to_evaluate, "
                f"got {evaluated_rewards!r}"
            )
        self._warned_of_failure = False
        self._points_are_taken = False
        if given is not None:
            self._check_points(given)

    @staticmethod
    def convert_search_space(spec: Mapping[str, Any]) -> SearchSpace:
        """Return the search space that the model sees, `.space`, with the way back to configurations.

        Raises:
            ValueError: If a domain has no bounded counterpart, or nothing is tunable.
        """
        return SearchSpace(spec)

    def set_search_properties(
        self, metric: str | None, mode: str | None, config: Mapping[str, Any], **spec: Any
    ) -> bool:
        """Take over metric, mode and search space from Tune, before the first trial.

        Returns:
            False if the searcher has a search space of its own and Tune would have to resolve another one.

        Raises:
            ValueError: If there is no metric or mode, the trials that are known are of another one, or the search
                space is not one to search.
        """
        check_objective(metric, mode)
        metric = metric or self._metric or (DEFAULT_METRIC if mode or self._mode else None)
        mode = mode or self._mode
        if metric is None or mode is None:
            raise ValueError(UNDEFINED_METRIC_MODE.format(cls=type(self).__name__, metric=metric, mode=mode))
        check_same(self.log, metric, mode)
        self._metric, self._mode = metric, mode
        self.log.metric, self.log.mode = self._metric, self._mode
        self.log.begin()
        if self._spec is not None:
            if any(unresolved(config)):
                return False
            self._take_points(self._spec, config)
            return True
        space = SearchSpace(config)
        if space != self.log.space:
            self.log.space = space
            self.log.version += 1
        self._take_points(config)
        return True

    def suggest(self, trial_id: str) -> Any:  # Tune's own annotation has no room for FINISHED
        """Return the next configuration, or FINISHED once a stopper has decided.

        It holds what is tunable, and the constants of a search space that the search has of its own.

        It never returns None: with no trial running, Tune would wait for up to ten minutes without asking a stopper.

        Raises:
            RuntimeError: If metric, mode or search space are still unknown.
        """
        if self.log.space is None:
            raise RuntimeError(UNDEFINED_SEARCH_SPACE.format(cls=type(self).__name__, space="space"))
        if self.log.metric is None or self.log.mode is None:
            raise RuntimeError(
                f"the search must know metric and mode, got metric={self.log.metric!r}, mode={self.log.mode!r}. Tune "
                "tells a search those of its TuneConfig only beside a param_space: give them to the search, "
                "GPUCBSearch(space=..., metric=..., mode=...)"
            )
        if self.log.watchers.end_the_search():
            return Searcher.FINISHED
        if not self._points_are_taken:  # Tune does not tell the search space of a search that has its own
            self._take_points(self._spec or self.log.space.template)
        space = self.log.space
        given = space.given(self._to_evaluate.pop(0)) if self._to_evaluate else {}
        config = space.config(self._next_point(given) if space.missing(given) else {}, given)
        self.log.start(trial_id, config)
        # Tune adds the constants of its own search space only.
        return config if self._spec is None else merge_dicts(self._spec, config)

    def on_trial_result(self, trial_id: str, result: Mapping[str, Any]) -> None:
        """Note how far the trial has come."""
        if self._knows(trial_id, result):
            self.log.went_on(trial_id, result)

    def on_trial_complete(self, trial_id: str, result: Mapping[str, Any] | None = None, error: bool = False) -> None:
        """Record how a trial ended; nothing that it reported can end the search."""
        if result is None and not error:
            self.log.cut_short(trial_id)
            return
        if self._knows(trial_id, result := result or {}):
            value = None if error else value_in(result, self.log.metric)
            self.log.finish(trial_id, value, time_in(result, self.log.time_attr), span_of(result))
            if not error:
                warn_without_values(self.log, trial_id, result)

    def _knows(self, trial_id: str, result: Mapping[str, Any]) -> bool:
        """Record a trial that is new, and whether its configuration is still the same; False if none is known."""
        # Tune restarts errored trials under new ids; what they run stands in their results.
        config = self.log.space.nested(result, ("config",)) if self.log.space is not None else {}
        if trial_id not in self.log.trials:
            if not config:
                return False
            self.log.start(trial_id, config)
        self.log.compare(trial_id, config)
        return True

    def add_evaluated_point(
        self,
        parameters: Mapping[str, Any],
        value: float,
        error: bool = False,
        pruned: bool = False,
        intermediate_values: list[float] | None = None,
    ) -> None:
        """Take over an evaluation from elsewhere; a pruned one is no value of the metric."""
        if not pruned:
            self.log.add_evaluated(dict(parameters), None if error else value)

    def get_state(self) -> dict[str, Any]:
        """Return what would be lost with the process."""
        return {
            **self.log.get_state(),
            "to_evaluate": self._to_evaluate,
            "rewards": self._rewards,
            "options": self.log.model.options,
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over a state, with the trials of this process where they are ahead of it.

        Raises:
            ValueError: If the state is of another searcher or version, or has trials of another metric or mode.
        """
        check_state(self.log, state)
        self.log.complete_from(state)
        self._metric, self._mode = self.log.metric, self.log.mode
        self._to_evaluate, self._rewards = list(state["to_evaluate"]), state["rewards"]
        self.restored_options = state.get("options")

    def save(self, checkpoint_path: str) -> None:
        """Write the state to a file."""
        with open(checkpoint_path, "wb") as file:
            # Choices may be functions that have no name.
            cloudpickle.dump(self.get_state(), file)  # pyright: ignore[reportPrivateImportUsage]

    def restore(self, checkpoint_path: str) -> None:
        """Read the state from a file that `save` wrote."""
        with open(checkpoint_path, "rb") as file:
            self.set_state(pickle.load(file))

    def save_to_dir(self, checkpoint_dir: str, session_str: str = "default") -> None:
        """Write the state, and for people to read the trials and certificates, into the experiment's directory."""
        super().save_to_dir(checkpoint_dir, session_str)
        write_record(self.log, checkpoint_dir)

    def _next_point(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return a point with values for all parameters that are there with the categories that are given."""
        assert self.log.space is not None
        space, n = self.log.space, len(self.log.trials)
        try:
            point = self.log.optimizer().ask(epsilon=self.log.watchers.epsilon)
        except (ArithmeticError, ValueError) as error:
            if not self._warned_of_failure:
                self._warned_of_failure = True
                logger.warning(
                    f"The model could not be fitted ({error}): the next trial is a point of a Sobol sequence."
                )
            point = space.space.decode(sobol_points(space.space, n + 1, self._seed)[n])
        if space.missing({**point, **given}):
            # The model has chosen another category than is given.
            every = Space(dict(space.space))
            point = every.decode(sobol_points(every, n + 1, self._seed)[n]) | point
        return point

    def _check_points(self, space: SearchSpace) -> None:
        for label, point in self._labelled_points():
            space.check_values(label, point)
            if self._rewards is not None:
                space.check_whole(label, point)

    def _take_points(self, *specs: Mapping[str, Any]) -> None:
        """Check the points to evaluate, keep what is tunable in them, and record those whose metric is known.

        Args:
            specs: The search space with its constants, wherever they stand.
        """
        space = self.log.space
        assert space is not None
        for label, point in self._labelled_points():
            check_names(label, point, *specs)
        self._check_points(space)
        if self._rewards is not None:
            for point, reward in zip(self._to_evaluate, self._rewards, strict=True):
                self.add_evaluated_point(point, reward)
            self._to_evaluate, self._rewards = [], None
        self._to_evaluate = [space.tunable(point) for point in self._to_evaluate]
        self._points_are_taken = True

    def _labelled_points(self) -> list[tuple[str, Mapping[str, Any]]]:
        return [(f"points_to_evaluate[{i}]", point) for i, point in enumerate(self._to_evaluate)]
