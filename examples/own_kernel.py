"""Your own kernel: a rough one plus a smooth one, on a grid, where every kernel gives a certified gap."""

from gpytorch.kernels import MaternKernel, RBFKernel, ScaleKernel
from regretstop_gpytorch import GPyTorchSurrogate

from regretstop import Categorical, Int, OptimalityGap, Space, minimize


def loss(params: dict[str, int | str]) -> float:
    depth, width = int(params["depth"]), int(params["width"])
    return (depth - 6) ** 2 / 20 + (width - 11) ** 2 / 80 + (0.3 if params["act"] == "tanh" else 0.0)


space = Space({"depth": Int(1, 12), "width": Int(1, 16), "act": Categorical(["relu", "tanh"])})
kernel = ScaleKernel(MaternKernel(nu=1.5)) + ScaleKernel(RBFKernel())
result = minimize(
    loss,
    space,
    rule=OptimalityGap(epsilon=0.5, delta=0.05),
    max_trials=100,
    seed=0,
    beta="matched",
    surrogate=GPyTorchSurrogate(kernel, noise_std=0.0),
)

print(f"{len(result.history)} evaluations, best value {result.value:.4f} at {result.params}")
print(result.certificate)
