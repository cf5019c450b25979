"""The next point: of a Sobol sequence as long as little is known, then the maximiser of μ + √β σ; its arguments."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from regretstop.array import Array
from regretstop.bound import (
    RiskLedger,
    ledger_for,
    log_n_exact,
    sloped_axes,
    slopes_are_known,
    slopes_of,
    theory_sqrt_beta,
)
from regretstop.checks import check_at_least, check_between, check_number_or
from regretstop.gap import Gap, certified_gap, counting_obstacle, likely_optimum
from regretstop.history import EncodedHistory
from regretstop.model import FEWEST_SAMPLED, Surrogate
from regretstop.search import SearchModel, UpperConfidenceBound, Visited, is_worth_repeating, noise_is_told
from regretstop.snapshot import Beta, Snapshot
from regretstop.spaces import Branch, Space, sobol_points

# The risk behind the widths of beta="theory" and "matched" when the sampler asks for the next point, the defaults of
# the rules; a rule uses its own δ. It changes where the sampler looks, never what a certificate says.
_DELTA = 0.05
_N_L = 10.0
# √β where no maxima can be counted or hyperparameters are estimated, and the least that is worth a search.
_DEFAULT_WIDTH, _LEAST_WIDTH = 2.0, 0.1
_WIDTH_ROUNDS = 3


def check_search(
    *,
    beta: object = "calibrated",
    exceedance: object = None,
    surrogate: object = None,
    n_initial: object = 5,
    best_possible: object = None,
    seed: object = None,
) -> None:
    """Check those arguments of `GPUCB` that have nothing to do with the space, for callers who do not know it yet.

    Raises:
        ValueError: If one is out of its range; it names the argument and the value.
    """
    check_number_or("beta", beta, "theory", "matched", "calibrated")
    if exceedance is not None and not (isinstance(exceedance, str) and exceedance == "rule"):
        check_between("exceedance", exceedance, 0)
    if surrogate is not None and (isinstance(surrogate, type) or not isinstance(surrogate, Surrogate)):
        raise ValueError(f"surrogate must have guarantee, n_estimated and fit, got {surrogate!r}")
    check_at_least("n_initial", n_initial, 1)
    if best_possible is not None:
        check_between("best_possible", best_possible, -math.inf)
    if seed is not None:
        check_at_least("seed", seed, 0)


def next_point(
    model: SearchModel, beta: Beta, n: int, snapshot: Callable[[], Snapshot], visited: Visited, *, repeats: bool
) -> Array:
    """Return the encoded point to evaluate next, shape (d,).

    Args:
        model: The model, with what keeps the point away from evaluations that have no value yet.
        beta: β of the acquisition.
        n: Number of completed observations.
        snapshot: Returns the snapshot of these, which only beta="matched" and "calibrated" need.
        visited: What was evaluated, or is being. Where the maximiser is among it and is not worth repeating, the best
            point that is not takes its place, as long as there is one.
        repeats: Whether a repeat can tell anything.
    """
    point, width = _maximiser(model, beta, n, snapshot)
    if not visited.among(point[None])[0]:
        return point
    new = model.chooser.maximize_new(UpperConfidenceBound(width), visited)
    if new is None:
        return point
    others = np.vstack([model.inside, new.point])
    if repeats and is_worth_repeating(model.chooser.posterior, point, others, width):
        return point
    return new.point


def best_again(model: SearchModel, data: EncodedHistory, epsilon: float) -> Array | None:
    """Return the best evaluated point, shape (d,), if a decision about ε hangs on what may be noise or structure.

    A score that is jagged, and the same again, looks like a noisy one as long as no point was evaluated twice. From as
    many observations on as samples of the hyperparameters may end a search from, a second evaluation tells.

    Args:
        model: At the mode of the hyperparameters, or over samples with the mode as its chooser; of another one nothing
            is repeated.
        data: The observations; none is a repeat.
        epsilon: ε in the objective's units.
    """
    candidates = data.points[data.inside & data.feasible]
    is_sampled = model.fit.over_samples is not None or model.fit.mode is not None
    if not is_sampled or len(data.values) + 1 < FEWEST_SAMPLED or not len(candidates):
        return None
    posterior = model.chooser.posterior
    mean, _ = posterior.mean_std(candidates)
    best = int(np.argmax(mean))
    difference = model.fit.data.units.gap(float(mean[best]), epsilon)
    is_told = noise_is_told(posterior.noise_std, difference, data.points, data.values)
    return None if is_told else candidates[best]


def _maximiser(model: SearchModel, beta: Beta, n: int, snapshot: Callable[[], Snapshot]) -> tuple[Array, float]:
    """Return the maximiser of the acquisition, shape (d,), and its √β."""
    if beta == "matched":
        gap = _matched(model, snapshot())
        if gap is not None and gap.open_point is not None:
            return gap.open_point, gap.sqrt_alpha
    if beta == "calibrated":
        return _calibrated(model, snapshot())
    width = math.sqrt(beta) if not isinstance(beta, str) else _theory_width(model, n)
    return model.chooser.maximize(UpperConfidenceBound(width)).point, width


def _matched(model: SearchModel, snapshot: Snapshot) -> Gap | None:
    """Return the certified gap, with the maximiser that keeps it open; None where there is no gap."""
    if snapshot.obstacle is not None:
        return None
    seen = replace(snapshot, model=snapshot.model.among(model.maximizers))
    return certified_gap(seen, _ledger(model.space))


def _calibrated(model: SearchModel, snapshot: Snapshot) -> tuple[Array, float]:
    """Return the maximiser of the upper confidence bound that is as high as f can still be, and its √β.

    With U = μ(x̂) + b, b about the counted gap, it is the least √β at which some μ(x) + √β σ(x) reaches U, so that x
    has the largest probability to exceed U.
    """
    chooser = model.chooser
    width = _DEFAULT_WIDTH
    seen = replace(snapshot, model=snapshot.model.among((chooser,)))
    # Where hyperparameters are estimated a search ends only if two deviations agree: their maximiser keeps it open.
    is_known = snapshot.model.guarantee == "theorem"
    if is_known and snapshot.obstacle is None and counting_obstacle(seen) is None:
        highest = likely_optimum(seen, _DELTA)
        # Each maximiser of the width before has a smaller one, until they agree (Dinkelbach 1967).
        for _ in range(_WIDTH_ROUNDS):
            reached = chooser.maximize(UpperConfidenceBound(width))
            if reached.std == 0.0 or math.isinf(highest):  # everything is known, or nothing can be said
                break
            width = max((highest - reached.mean) / reached.std, _LEAST_WIDTH)
    return chooser.maximize(UpperConfidenceBound(width)).point, width


def _theory_width(model: SearchModel, n: int) -> float:
    """Return √β_t of the paper's theory, eq. (4), for the query after n observations."""
    space, posterior = model.space, model.chooser.posterior
    dim = int(np.sum(sloped_axes(space)))
    reach = 0.0
    if dim and slopes_are_known(space, posterior):
        slopes = slopes_of(space, posterior, _ledger(space).slope_risk)
        reach = dim * math.exp(float(np.mean(np.log(slopes))))
    return theory_sqrt_beta(n + 1, dim, _DELTA, reach, log_n_exact(space))


def _ledger(space: Space) -> RiskLedger:
    return ledger_for(space, _DELTA, _N_L)


# Points of the sequence that are looked at, at the price of one call, before a space is taken for nearly all visited.
_TRIES = 64
# In a larger space that many points of the sequence are not all visited ones, unless nearly all points are.
_LIST_UP_TO = 10_000


def initial_point(space: Space, visited: Visited, index: int, seed: int, branch: Branch | None = None) -> Array:
    """Return a point of a scrambled Sobol sequence: the first from an index on that was not visited.

    Args:
        space: The search space.
        visited: What was evaluated, or is being.
        index: Of the point in the sequence.
        seed: Of the sequence.
        branch: Where the point should be; anywhere by default.

    Returns:
        The encoded point, shape (d,). If it was visited, so were all points of the space, or nearly all of a large one.
    """
    points = sobol_points(space, index + _TRIES, seed, branch)[index:]
    known = visited.among(points)
    if np.all(known) and space.size <= _LIST_UP_TO:
        points = np.vstack([points[:1], space.enumerate()])
        known = visited.among(points)
    return points[np.argmin(known)]
