"""How often a certificate is false where the model is true: kernel known, and kernel unknown but drawn from the priors.

**known.** A draw of the declared Gaussian process: unit deviation, lengthscales and noise told to the surrogate. This
is the theorem's setting.

**unknown.** The surrogate estimates the hyperparameters, and they are draws of its own priors. It standardises the
values first and then takes θ = (ℓ, s, σ) for a draw of the priors and the values z for one of the process with θ:
p(θ | z) ∝ p(z | θ) p(θ). That is Bayes' rule for a world where θ and f are drawn from prior and process, and only
those count whose values happen to have deviation one. Draws of that world are made so: ℓ from its prior and g of unit
deviation; f = s g has deviation one over the space if s = 1 / (deviation of g), and the prior density of log s there
is the weight of the draw, by which it is kept or thrown away. σ is a draw of its prior too, truncated to at most
NOISE_MOST of that deviation (80 % of the prior), because no ε would be reached beyond. What is told to the surrogate
is g with noise σ / s: the library is equivariant, a change of units changes nothing. Two things remain that the model
does not know: σ is truncated, and the values whose deviation is made one are those at the points that the path
chooses, not those all over the space.

The true mean is zero; the known kernel has it declared, the unknown one integrates a constant out.

ε is relative to the prior deviation of the draw. A path is tested on a schedule, by each rule until that rule has
stopped for the first time, and ends when all have: what is counted is what somebody saw who stops then. Tests carry
the numbers of tests after every observation, so the schedule spends less than δ. UCBbr, which costs the most, is asked
only where the gap is below ε or below the true regret: in 384 tests in first trials its own bound was
never the smaller one.

Under an unknown kernel samples and mode of the hyperparameters are tested on the same data. The points are those that
the mode chooses: the same as under samples with "theory", fewer computations with "matched", and the statement is one
about any choice of points.
"""

import math
import time
from collections.abc import Container
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.draws import Array, Draw, cube_draw, lattice_draw
from benchmarks.pending import run_pending
from benchmarks.records import RESULTS, compact
from regretstop import GPUCB, Certificate, GaussianProcess, Matern52, OptimalityGap, UCBbr
from regretstop.model import LENGTHSCALE_PRIOR, NOISE_STD_FLOOR, NOISE_STD_PRIOR, PRIOR_STD_PRIOR

PATH = RESULTS / "coverage.jsonl.gz"
EPSILON = 0.1
DELTA = 0.05
KERNELS = ("known", "unknown")
SPACES = ("finite", "continuous")
BETAS = ("theory", "matched")
RULES = ("UCBbr", "OptimalityGap")
# The first one chooses the points.
TREATMENTS = {"known": ("fixed",), "unknown": ("map", "posterior")}
PER_AXIS = {1: 51, 2: 10, 4: 3}
TRIALS = {1: 25, 2: 39, 4: 48}
TESTS = {"known": range(4, 61, 2), "unknown": (8, 10, 12, 16, 20, 25, 31, 39, 48)}
KNOWN_LENGTHSCALE = {1: 0.2, 2: 0.5, 4: 2.0}
KNOWN_NOISE = 5e-3
NOISE_MOST = 0.1


@dataclass
class Tally:
    """What one rule said along a path, up to its first stop.

    Attributes:
        tests: How often it was asked.
        violated: How often its bound was below the true regret of the trial it named.
        stop: After how many evaluations it stopped, None if it did not.
        regret: The true regret of the trial it named then.
    """

    tests: int = 0
    violated: int = 0
    stop: int | None = None
    regret: float | None = None

    def count(self, certificate: Certificate, n: int, regrets: Array) -> None:
        """Take in the certificate after n evaluations, whose true regrets have shape (n,)."""
        if self.stop is not None or certificate.incumbent is None:
            return
        regret = float(regrets[certificate.incumbent])
        self.tests += 1
        self.violated += certificate.bound < regret
        if certificate.stop:
            self.stop, self.regret = n, compact(regret)


def run(draws: int, processes: int = 1, path: Path = PATH) -> None:
    """Run the paths that the file does not hold yet; each is saved when it ends."""
    keys = [
        {"kernel": kernel, "space": space, "dim": dim, "beta": beta, "draw": draw, "trials": trials}
        for draw in range(draws)
        for dim, trials in TRIALS.items()
        for kernel in KERNELS
        for space in SPACES
        for beta in BETAS
    ]
    run_pending(run_path, keys, path, processes)


def objective_of(kernel: str, space: str, dim: int, number: int) -> tuple[Draw, Array, float]:
    """Return a draw, its lengthscales, shape (dim,), and the deviation of its noise."""
    rng = np.random.default_rng([number, dim, SPACES.index(space), KERNELS.index(kernel)])
    while True:
        if kernel == "unknown":
            lengthscales = np.exp(rng.normal(*LENGTHSCALE_PRIOR, dim))
        else:
            lengthscales = np.full(dim, KNOWN_LENGTHSCALE[dim])
        draw = lattice_draw(PER_AXIS[dim], lengthscales, rng) if space == "finite" else cube_draw(lengthscales, rng)
        if kernel == "known":
            return draw, lengthscales, KNOWN_NOISE
        off = (-math.log(draw.spread) - PRIOR_STD_PRIOR[0]) / PRIOR_STD_PRIOR[1]
        if rng.random() < math.exp(-0.5 * off**2):
            return draw, lengthscales, draw.spread * _noise(rng)


def _noise(rng: np.random.Generator) -> float:
    """Return a draw of the prior of σ, in units of the values' deviation."""
    while True:
        noise_std = max(math.exp(rng.normal(*NOISE_STD_PRIOR)), NOISE_STD_FLOOR)
        if noise_std <= NOISE_MOST:
            return noise_std


def run_path(key: dict[str, Any]) -> dict[str, Any]:
    """Return one path's tests under each treatment by each rule.

    The draw and the noise depend on the number of the draw, not on β.
    """
    start = time.process_time()
    kernel, dim = key["kernel"], key["dim"]
    draw, lengthscales, noise_std = objective_of(kernel, key["space"], dim, key["draw"])
    noise = np.random.default_rng([key["draw"], dim]).normal(0.0, noise_std, key["trials"])
    numbers: dict[str, Any] = {}
    if kernel == "known":
        numbers = {"kernel": Matern52(lengthscales.tolist(), 1.0), "noise_std": noise_std}
    models = {
        treatment: GPUCB(
            draw.space,
            beta=key["beta"],
            surrogate=GaussianProcess(hyperparameters=treatment, **numbers),
            seed=key["draw"],
        )
        for treatment in TREATMENTS[kernel]
    }
    tallies, evaluations = follow(draw, noise, models, TESTS[kernel])
    return key | {
        "epsilon": EPSILON,
        "delta": DELTA,
        "lengthscales": [compact(value) for value in lengthscales],
        "noise_std": compact(noise_std),
        "rules": {treatment: {rule: asdict(t) for rule, t in tally.items()} for treatment, tally in tallies.items()},
        "evaluations": evaluations,
        "cpu_s": round(time.process_time() - start, 2),
    }


def follow(
    draw: Draw, noise: Array, models: dict[str, GPUCB], tests: Container[int]
) -> tuple[dict[str, dict[str, Tally]], int]:
    """Follow the path of the first model until all have stopped by all rules.

    Args:
        draw: What is evaluated.
        noise: What is added, shape (n,) for at most n evaluations.
        models: By treatment.
        tests: Numbers of evaluations after which there is a test.

    Returns:
        The tallies by treatment and rule, and the length of the path.
    """
    sampler = next(iter(models.values()))
    # Whether any certificate of a path is false is what is asked, so all are to be true at once.
    gap_rule = OptimalityGap(EPSILON, DELTA, simultaneous=True, beta="grid")
    ucb_rule = UCBbr(EPSILON, DELTA, simultaneous=True)
    tallies = {treatment: {rule: Tally() for rule in RULES} for treatment in models}
    maximum, values = draw.find_maximum(), np.empty(0)
    for n, error in enumerate(noise, 1):
        params = sampler.ask()
        values = np.append(values, draw.objective(params))
        sampler.tell(params, values[-1] + error)
        if n not in tests:
            continue
        regrets = max(maximum, float(np.max(values))) - values
        still = {treatment: tally for treatment, tally in tallies.items() if not _have_stopped(tally)}
        for treatment, tally in still.items():
            models[treatment].replace_history(sampler.history)
            snapshot = models[treatment].snapshot()
            gap = gap_rule.assess(snapshot)
            if gap.incumbent is None:
                continue
            tally["OptimalityGap"].count(gap, n, regrets)
            if gap.bound < max(EPSILON, regrets[gap.incumbent]):
                tally["UCBbr"].count(ucb_rule.assess(snapshot), n, regrets)
        if all(map(_have_stopped, tallies.values())):
            break
    return tallies, len(values)


def _have_stopped(tally: dict[str, Tally]) -> bool:
    return all(each.stop is not None for each in tally.values())
