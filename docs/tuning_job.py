"""Runs the job of tuning_job.md and draws its pictures, light and dark: `python docs/tuning_job.py`.

It prints what the page quotes.
"""

import re
from pathlib import Path
from typing import Any, get_args

import optuna
from regretstop_optuna import matplotlib as plots

from regretstop.plotting import Theme

HERE = Path(__file__).parent
FOLDER = HERE / "images" / "tuning_job"
# In dots per inch: as wide as the text of the page.
RESOLUTION = 80


def main() -> None:
    """Run the first block of the page, draw, and search on at random."""
    (first, *_) = re.findall(r"^```python\n(.*?)^```$", (HERE / "tuning_job.md").read_text("utf-8"), flags=re.S | re.M)
    names: dict[str, Any] = {}
    exec(first, names)
    study = names["study"]
    print(names["certificate_of"](study))
    FOLDER.mkdir(parents=True, exist_ok=True)
    for theme in get_args(Theme):
        drawn = {
            "regret_bound": plots.plot_regret_bound(study, theme=theme).figure,
            "probability_left": plots.plot_probability_left(study, theme=theme).figure,
            "optimum": plots.plot_optimum(study, theme=theme),
        }
        for name, figure in drawn.items():
            metadata = {"Software": None}  # or a new matplotlib alone would change every file
            figure.savefig(FOLDER / f"{name}_{theme}.png", dpi=RESOLUTION, metadata=metadata)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    random = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=1))
    random.optimize(names["accuracy"], n_trials=100)
    print(f"of the study {study.best_value:.4f}, of 100 random settings {random.best_value:.4f}")


if __name__ == "__main__":
    main()
