"""A small convolutional network on the digits of scikit-learn, as a classifier that cross-validation can train."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

_EPOCHS, _SIDE, _CLASSES, _BRIGHTEST = 6, 8, 10, 16.0


class Convolutions(ClassifierMixin, BaseEstimator):
    """Two layers of convolutions, one of pooling, one dense; trained by Adam in one thread."""

    def __init__(
        self, channels: int, width: int, learning_rate: float, weight_decay: float, dropout: float, seed: int
    ) -> None:
        self.channels = channels
        self.width = width
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.dropout = dropout
        self.seed = seed

    def fit(self, points: NDArray[np.float64], target: NDArray[np.int64]) -> "Convolutions":
        """Train on images, shape (n, 64), and their digits, shape (n,)."""
        import torch
        from torch import nn

        torch.set_num_threads(1)
        torch.manual_seed(self.seed)
        self.classes_ = np.arange(_CLASSES)
        self._network = nn.Sequential(
            nn.Conv2d(1, self.channels, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(self.channels, self.channels, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(self.channels * (_SIDE // 2) ** 2, self.width),
            nn.ReLU(),
            nn.Dropout(self.dropout),
            nn.Linear(self.width, _CLASSES),
        )
        optimizer = torch.optim.AdamW(self._network.parameters(), lr=self.learning_rate, weight_decay=self.weight_decay)
        images, digits = _images(points), torch.as_tensor(target)
        for _ in range(_EPOCHS):
            for batch in torch.randperm(len(digits)).split(32):
                optimizer.zero_grad()
                nn.functional.cross_entropy(self._network(images[batch]), digits[batch]).backward()
                optimizer.step()
        return self

    def predict(self, points: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the digits of images, shape (n, 64)."""
        import torch

        self._network.eval()
        with torch.no_grad():
            return np.asarray(self._network(_images(points)).argmax(dim=1))


def _images(points: NDArray[np.float64]) -> Any:
    import torch

    return torch.as_tensor(points / _BRIGHTEST, dtype=torch.float32).reshape(-1, 1, _SIDE, _SIDE)
