"""Derivatives of small networks by PyTorch's automatic differentiation, in float64."""

import json

import torch
from torch.autograd.functional import hvp, jvp, vjp

ACTIVATIONS = {"relu": torch.relu, "tanh": torch.tanh, "gelu": torch.nn.functional.gelu}


def forward(theta, x, widths, activation):
    at, a = 0, x
    for l in range(len(widths) - 1):
        size = widths[l + 1] * (widths[l] + 1)
        layer = theta[at:at + size].reshape(widths[l + 1], widths[l] + 1)
        at += size
        a = a @ layer[:, :-1].T + layer[:, -1]
        if l + 2 < len(widths):
            a = activation(a)
    return a


def loss(z, y):
    if z.shape[1] == 1:
        return torch.nn.functional.binary_cross_entropy_with_logits(z[:, 0], y.double(), reduction="sum")
    return torch.nn.functional.cross_entropy(z, y, reduction="sum")


def case(name, widths, rows, seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    activation = ACTIVATIONS[name]
    count = sum(widths[l + 1] * (widths[l] + 1) for l in range(len(widths) - 1))
    x = normal(rows, widths[0]).float()
    x[x.abs() < 0.5] = 0  # as sparse features have it
    theta, v, h = 0.7 * normal(count), normal(count), normal(rows, widths[-1])
    y = torch.randint(max(2, widths[-1]), (rows,), generator=generator)

    def logits(t):
        return forward(t, x.double(), widths, activation)

    def total(t):
        return loss(logits(t), y)

    value, gradient = total(theta), torch.autograd.functional.jacobian(total, theta)
    _, u = jvp(logits, theta, v)
    _, back = vjp(logits, theta, h)
    _, exact = hvp(total, theta, v)
    # J^T S J v, with S u from the derivative of dL/dz along u
    slope = torch.autograd.functional.hvp(lambda z: loss(z, y), logits(theta), u)[1]
    _, gauss_newton = vjp(logits, theta, slope)
    _, input_slope = jvp(lambda a: forward(theta, a, widths, activation), x.double(),
                         torch.eye(widths[0], dtype=torch.float64)[1].repeat(rows, 1))
    numbers = {"x": x.double(), "theta": theta, "v": v, "h": h, "logits": logits(theta), "gradient": gradient, "jvp": u,
               "vjp": back, "hessian_product": exact, "gauss_newton_product": gauss_newton, "input_slope": input_slope}
    return {"activation": name, "widths": widths, "rows": rows, "y": y.tolist(), "loss": value.item(),
            **{key: t.reshape(-1).tolist() for key, t in numbers.items()}}


def main(out_dir):
    cases = [case(name, widths, 7, seed) for seed, (name, widths) in enumerate(
        [(name, widths) for name in ACTIVATIONS for widths in ([4, 5, 1], [4, 5, 3], [3, 4, 3, 2], [4, 3, 5, 4, 3])])]
    (out_dir / "mlp.json").write_text(json.dumps({"torch": torch.__version__, "cases": cases}) + "\n")
