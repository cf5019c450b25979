"""Tune a small convolutional network on MNIST and stop when the search is good enough.

    python examples/mnist_cnn.py            # a few minutes on two cores
    python examples/mnist_cnn.py --full     # the paper's ranges: up to a minute a training

The default trains on 2,000 digits instead of 4,000 and searches what a practitioner would, not the paper's ranges: 4-16
filters instead of 1-64, 2-6 epochs instead of 1-25, rates 0.0003-0.01 instead of 0.00001-0.1, dropout 0-0.6 instead of
0-1. It leaves a picture in examples/output/mnist_cnn.png.
"""

import argparse
from pathlib import Path
from time import perf_counter

import optuna
from matplotlib.figure import Figure
from mnist_task import FULL, SMALL, validation_accuracy
from optuna import Study, Trial
from optuna.trial import FrozenTrial
from regretstop_optuna import GPUCBSampler, RegretBoundCallback, certificate_of
from regretstop_optuna.matplotlib import plot_regret_bound
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

PICTURE = Path(__file__).parent / "output" / "mnist_cnn.png"
HEADER = "trial  filters  epochs  rate     dropout  accuracy  best    bound   certified"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epsilon", type=float, default=0.02, help="tolerated loss of accuracy")
    parser.add_argument("--trials", type=int, default=100, help="the most trainings to run")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--full", action="store_true", help="the paper's ranges, 4,000 digits")
    args = parser.parse_args()
    size = FULL if args.full else SMALL

    def objective(trial: Trial) -> float:
        params = {
            "filters": trial.suggest_int("filters", *size.filters),
            "epochs": trial.suggest_int("epochs", *size.epochs),
            "lr": trial.suggest_float("lr", *size.lr, log=True),
            "dropout": trial.suggest_float("dropout", *size.dropout),
        }
        return validation_accuracy(params, size=size, seed=args.seed + trial.number)

    print(
        f"Tuning a CNN on {size.n_train:,} digits, until the bound on what more trainings "
        f"could still gain falls below ε = {args.epsilon:g}.\n"
    )
    optuna.logging.set_verbosity(optuna.logging.ERROR)  # the table says what Optuna would log
    study = optuna.create_study(direction="maximize", sampler=GPUCBSampler(seed=args.seed, best_possible=1.0))
    stop = RegretBoundCallback(epsilon=args.epsilon)
    start = perf_counter()
    with Table(trials=args.trials) as table:
        study.optimize(objective, n_trials=args.trials, callbacks=[stop, table.add])
    report(study, trials=args.trials, seconds=perf_counter() - start)


class Table(Progress):
    """One row for each trial, above a progress bar that assumes that no certificate comes."""

    def __init__(self, *, trials: int) -> None:
        super().__init__(
            BarColumn(bar_width=40),
            TimeElapsedColumn(),
            TextColumn("at most"),
            TimeRemainingColumn(),
            TextColumn("to go"),
        )
        self._bar = self.add_task("", total=trials)
        self.console.print(HEADER, style="bold")

    def add(self, study: Study, trial: FrozenTrial) -> None:
        """Add the row of a trial; an Optuna callback, to be called after the one that certifies."""
        certificate = certificate_of(study)
        p = trial.params
        self.console.print(
            f"{trial.number:5}  {p['filters']:7}  {p['epochs']:6}  {p['lr']:7.5f}  {p['dropout']:7.3f}  "
            f"{trial.value:8.4f}  {study.best_value:6.4f}  {certificate.bound:6.4f}  {certificate.optimality_gap:9.4f}",
            style="green" if certificate.stop else None,
            highlight=False,
        )
        self.advance(self._bar)


def report(study: Study, *, trials: int, seconds: float) -> None:
    certificate = certificate_of(study)
    ending = "The certificate ended the search" if certificate.stop else "The budget ran out"
    print(f"\n{ending} after {len(study.trials)} of {trials} trainings, in {seconds:.0f} s.")
    print(f"Best accuracy: {study.best_value:.4f} (trial {study.best_trial.number}).\n")
    print(certificate)

    PICTURE.parent.mkdir(exist_ok=True)
    figure = Figure(figsize=(8.0, 4.5), layout="constrained")
    plot_regret_bound(study, figure.add_subplot())
    figure.savefig(PICTURE, dpi=150)
    print(f"\nBound, ε and best accuracy over the trials: {PICTURE}")


if __name__ == "__main__":
    main()
