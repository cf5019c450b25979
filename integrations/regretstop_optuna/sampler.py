"""GP-UCB as an Optuna sampler."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from regretstop import Surrogate
from regretstop.spaces import Point
from regretstop_optuna._attributes import INDEPENDENT, PROPOSAL, TYPED, latest_epsilon, names_in, proposal_of
from regretstop_optuna._constraints import ConstraintsFunc, store_constraints
from regretstop_optuna._digest import View
from regretstop_optuna._logging import logger
from regretstop_optuna._memory import memory_of, view_of
from regretstop_optuna._models import Models
from regretstop_optuna._observations import running_points
from regretstop_optuna._space import (
    Distributions,
    as_recorded,
    is_of_plain_values,
    is_single,
    loses_classes,
    survives_json,
)
from regretstop_optuna._storage import keeps_objects, user_attributes
from regretstop_optuna._write import try_to_publish
from regretstop_optuna.check import check_study


class GPUCBSampler(BaseSampler):
    """Samples the maximiser of an upper confidence bound, μ + √β σ, of a Gaussian process.

    Give it to a study together with `RegretBoundCallback`, which then uses the same model.

    Parameters that every completed trial has in common are sampled jointly, and so are those that are conditional
    on the value of a categorical parameter, or of an integer one with few values; such a value that no trial has tried
    is tried next. Others are sampled one by one by the independent sampler, as all are while no trial is completed; a
    warning says so once. Completed trials count wherever they
    come from: resumed, enqueued, added, or from another process. Pruned, failed and infinite ones
    are not fitted, but the sampler moves on from where they were.

    Threads may share the sampler. Each proposal is written to its trial before the next one is
    made, so parallel workers, threads as well as processes on one storage, keep apart.

    Args:
        beta: β of the acquisition μ + √β σ (4.0: two deviations), "theory", "matched" or "calibrated"; see
            `regretstop.GPUCB`.
        exceedance: ε in the units of the objective, or "rule" for that of the study's latest certificate: every
            other point is sought where something better by more than ε may still be; see `regretstop.GPUCB`. None for
            none, as "rule" also is beside beta="theory" or "matched".
        seed: Seed of everything random. With `n_jobs` above 1 Optuna draws new seeds.
        n_startup_trials: Trials before the model is used. As soon as the first completed one tells
            the space, they follow a scrambled Sobol sequence.
        surrogate: The model, by default a `regretstop.GaussianProcess` with everything estimated. Declared lengthscales
            belong to the parameters in alphabetical order.
        best_possible: The best value that the objective could ever have, such as 1.0 for an accuracy; see
            `regretstop.GPUCB`.
        independent_sampler: Sampler for the parameters outside the joint space; a `RandomSampler`
            with the same seed if None.
        constraints_func: Returns the constraints of a trial that was completed or pruned, as for Optuna's own samplers:
            each is met where it is at most 0. Those that were violated are modelled, and feasible points preferred.
            `Trial.set_constraint` of Optuna 5 needs no such function.

    Raises:
        ValueError: If an argument is out of its range, or the arguments do not go together.
    """

    def __init__(
        self,
        *,
        beta: float | Literal["theory", "matched", "calibrated"] = "calibrated",
        exceedance: float | Literal["rule"] | None = "rule",
        seed: int | None = None,
        n_startup_trials: int = 5,
        surrogate: Surrogate | None = None,
        best_possible: float | None = None,
        independent_sampler: BaseSampler | None = None,
        constraints_func: ConstraintsFunc | None = None,
    ) -> None:
        if not isinstance(n_startup_trials, int) or n_startup_trials < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"n_startup_trials must be an integer of at least 1, got {n_startup_trials!r}")
        self.models = Models(
            beta=beta,
            exceedance=exceedance,
            surrogate=surrogate,
            n_initial=n_startup_trials,
            best_possible=best_possible,
            seed=seed,
        )
        self._independent_sampler = independent_sampler or RandomSampler(seed=seed)
        self._constraints_func = constraints_func
        self._warned_of_independent = False
        self._warned_of_failure = False

    def reseed_rng(self) -> None:
        """Draw a new seed for the independent sampler, as Optuna asks of parallel workers.

        The model needs none: what it proposes depends on the data and on the points in evaluation.
        """
        self._independent_sampler.reseed_rng()

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Refuse a multi-objective study before its first trial runs."""
        check_study(study)
        self._independent_sampler.before_trial(study, trial)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        """Store the constraints, and pass the call on to the independent sampler."""
        if self._constraints_func is not None and state in (TrialState.COMPLETE, TrialState.PRUNED):
            store_constraints(study, trial, self._constraints_func)
        self._independent_sampler.after_trial(study, trial, state, values)

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Return the distributions of the parameters that the model covers, those of all branches.

        A storage that keeps JSON gives a tuple among the choices back as a list, and Optuna ends the study where the
        objective suggests the tuple again; a member of a `str` enumeration it gives back as a string. Which of the two
        the objective suggests is known once it has suggested it here.
        """
        memory = memory_of(study)
        view = memory.view(study)
        found: dict[str, BaseDistribution] = {}
        for name, stored in view.tree.distributions.items():
            if keeps_objects(study) or (is_of_plain_values(stored) and name not in view.typed):
                found[name] = stored
            elif memory.given.get(name) == stored:
                found[name] = memory.given[name]  # with the very objects that the objective chooses from
        return found

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return the next point, which is then visible to every other thread and process."""
        check_study(study)
        if not search_space:
            return {}
        with self.models.lock:
            memory = memory_of(study)
            view = memory.view(study)
            running = running_points(view.trials, search_space, view.longest, but=trial)
            params = _unknown(view.to_try, search_space, running)
            if params is None:
                params = self._proposed(study, view, search_space, running, trial)
            if params:
                try_to_publish(study, memory, trial, PROPOSAL, proposal_of(params, search_space))
            return params

    def _proposed(
        self,
        study: Study,
        view: View,
        search_space: Distributions,
        running: Sequence[Mapping[str, Any]],
        trial: FrozenTrial,
    ) -> dict[str, Any]:
        """Return the point that the model chooses; nothing where it cannot."""
        tree = view.tree.among(search_space)
        try:
            model = self.models.get(study, tree)
            model.replace_history(replace(view, tree=tree).modelled(), list(map(tree.to_space, running)))
            epsilon = latest_epsilon(user_attributes(study)) if model.needs_epsilon else None
            params = tree.from_space(model.ask(epsilon=epsilon))
            return {name: as_recorded(search_space[name], value) for name, value in params.items()}
        except (ArithmeticError, ValueError) as error:
            self._warn_of_failure(trial, error)
            return {}

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """Return a value of one parameter that is not sampled jointly."""
        check_study(study)
        if not keeps_objects(study) and not is_of_plain_values(param_distribution):
            self._remember(study, trial, param_name, param_distribution)
        if not self._warned_of_independent and not is_single(param_distribution):
            self._warn_if_not_joint(study, trial, param_name, param_distribution)
        value = self._independent_sampler.sample_independent(study, trial, param_name, param_distribution)
        # Or the objective would see a choice that the model, which reads the records, takes for another.
        return as_recorded(param_distribution, value)

    def _remember(self, study: Study, trial: FrozenTrial, name: str, distribution: BaseDistribution) -> None:
        """Remember what the objective suggests, and make it known if the storage will not give it back."""
        memory = memory_of(study)
        memory.given[name] = distribution
        for key, is_so in ((INDEPENDENT, not survives_json(distribution)), (TYPED, loses_classes(distribution))):
            if is_so:
                try_to_publish(study, memory, trial, key, sorted({*names_in(trial, key), name}))

    def _warn_if_not_joint(self, study: Study, trial: FrozenTrial, name: str, distribution: BaseDistribution) -> None:
        view = view_of(study)
        # A trial that began before the first one was completed samples everything here, and one that is the first in
        # its branch what nobody knew of.
        if not view.n_observations or view.tree.distributions.get(name) == distribution:
            return
        if keeps_objects(study) or survives_json(distribution):
            if not view.is_unexplained:
                return
            why = "the completed trials do not have it in common, or not with one range, and nothing tells where"
        else:
            why = "the storage gives its choices back as others (a tuple comes back as a list)"
        self._warned_of_independent = True
        logger.warning(
            f"Parameter {name!r} of trial {trial.number} is sampled by "
            f"{type(self._independent_sampler).__name__} and not by the model: {why}. Further "
            "ones of this kind are too, without another warning. The search is less efficient, and "
            "no regret bound is certified for such a study."
        )

    def _warn_of_failure(self, trial: FrozenTrial, error: Exception) -> None:
        if not self._warned_of_failure:
            self._warned_of_failure = True
            logger.warning(
                f"The model could not be fitted for trial {trial.number} ({error}): the trial is "
                f"sampled by {type(self._independent_sampler).__name__}."
            )


def lender_of(study: Study) -> GPUCBSampler | None:
    """Return the study's sampler if it is one of these, also inside others such as a `PartialFixedSampler`."""
    sampler: Any = study.sampler
    while sampler is not None and not isinstance(sampler, GPUCBSampler):
        sampler = getattr(sampler, "_base_sampler", None)
    return sampler


def _unknown(
    to_try: Sequence[Point], distributions: Distributions, running: Sequence[Mapping[str, Any]]
) -> dict[str, Any] | None:
    """Return a value of a deciding parameter that nobody has tried, or is trying, and what it takes to get there."""
    for point in to_try:
        if point.keys() <= distributions.keys():
            params = {name: distributions[name].to_external_repr(value) for name, value in point.items()}
            if not any(params.items() <= other.items() for other in running):
                return params
    return None
