"""The job of influence_bench and its rivals: make_influence_job.py FOLDER OUT [SEED]

FOLDER has the four gzipped idx files of MNIST. Makes Colored MNIST with 99 % of each digit in
its own colour and trains the MLP 2352-100-100-100-10 (Adam 1e-3, batch 256); of the states after
each epoch the one is kept whose accuracy on the first 5,000 test digits, in random colours,
is nearest .5134. Its last layer is refitted in float64 to the optimum of F (l2 = 1e-3).
Writes safetensors: X, y (60,000 training rows of last hidden features), C, Cbar, pair_y (those
5,000 digits, and each in another colour), theta (row k = W_k | b_k) and l2.
"""
import gzip
import pathlib
import sys

import numpy as np
import torch
from torch import nn

from job import write
from linear_head import flat_l2, hessian, inverse, probabilities, slopes, with_ones

PALETTE = np.array([(251, 80, 43), (253, 233, 90), (172, 118, 148), (200, 212, 153), (22, 198, 250),
                    (82, 245, 114), (6, 60, 193), (142, 26, 194), (53, 100, 5), (213, 52, 68)])
RATIO, NOISE, L2, GOAL, PAIRS, EPOCHS, ACCURACY = 0.99, 0.005, 1e-3, 1e-10, 5000, 10, 0.5134


def idx(path):
    data = gzip.decompress(path.read_bytes())
    shape = [int.from_bytes(data[4 * i:4 * i + 4], "big") for i in range(1, data[3] + 1)]
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(shape)


def digits(folder, name):
    grey = idx(folder / f"{name}-images-idx3-ubyte.gz").reshape(-1, 784) / np.float32(255)
    return grey, idx(folder / f"{name}-labels-idx1-ubyte.gz").astype(np.int32)


def other(colours, rng):
    """A uniform colour that is not the given one."""
    return (colours + rng.integers(1, 10, len(colours))) % 10


def biased_colours(y, rng):
    colours = y.copy()
    for digit in range(10):
        rows = rng.permutation(np.flatnonzero(y == digit))
        rest = rows[round(RATIO * len(rows)):]
        colours[rest] = other(y[rest], rng)
    return colours


class Images:
    """Grey values times a colour; a batch is coloured when it is asked for."""

    def __init__(self, grey, colours, rng):
        self.grey = grey
        shade = PALETTE[colours] / 255 + NOISE * rng.standard_normal((len(grey), 3))
        self.shade = shade.clip(0, 1).astype(np.float32)

    def batch(self, rows):
        image = self.grey[rows][:, :, None] * self.shade[rows][:, None]
        return torch.from_numpy(image.reshape(len(image), -1))

    def through(self, network):
        with torch.no_grad():
            parts = [network(self.batch(slice(i, i + 1000))) for i in range(0, len(self.grey), 1000)]
        return torch.cat(parts).numpy()


def train(images, y, held_out, held_y, rng):
    sizes = (2352, 100, 100, 100)
    layers = [part for a, b in zip(sizes, sizes[1:]) for part in (nn.Linear(a, b), nn.ReLU())]
    body = nn.Sequential(*layers)
    network = nn.Sequential(body, nn.Linear(100, 10))
    adam = torch.optim.Adam(network.parameters(), lr=1e-3)
    labels, nearest = torch.from_numpy(y.astype(np.int64)), None
    for epoch in range(1, EPOCHS + 1):
        order = rng.permutation(len(y))
        for first in range(0, len(y), 256):
            rows = order[first:first + 256]
            adam.zero_grad()
            nn.functional.cross_entropy(network(images.batch(rows)), labels[rows]).backward()
            adam.step()
        accuracy = float((held_out.through(network).argmax(axis=1) == held_y).mean())
        print(f"epoch {epoch}: accuracy {accuracy:.4f} on random colours", file=sys.stderr)
        if nearest is None or abs(accuracy - ACCURACY) < nearest[0]:
            state = {name: value.clone() for name, value in body.state_dict().items()}
            nearest = (abs(accuracy - ACCURACY), state)
    body.load_state_dict(nearest[1])
    return body


def objective(W, X, y):
    P = probabilities(W, X)
    penalty = flat_l2(W.shape, L2) * W
    value = -np.log(P[np.arange(len(y)), y]).mean() + (penalty * W).sum() / 2
    return value, P, slopes(P, y).T @ X / len(y) + penalty


def optimum(X, y):
    """Newton's method in float64 with halved steps, from zero."""
    X, W = with_ones(X, np.float64), np.zeros((10, X.shape[1] + 1))
    value, P, gradient = objective(W, X, y)
    at_zero = np.linalg.norm(gradient)
    for _ in range(50):
        reached = np.linalg.norm(gradient) / at_zero
        print(f"F = {value:.12f}, relative gradient {reached:.1e}", file=sys.stderr)
        if reached <= GOAL:
            return W
        step, size = inverse(hessian(X, P, L2))(gradient), 1.0
        while (trial := objective(W - size * step, X, y))[0] > value + 1e-14:
            size /= 2
        W, (value, P, gradient) = W - size * step, trial
    raise SystemExit("the last layer did not reach its optimum")


def main():
    folder, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    grey, y = digits(folder, "train")
    pair_grey, pair_y = (part[:PAIRS] for part in digits(folder, "t10k"))
    images = Images(grey, biased_colours(y, rng), rng)
    colours = rng.integers(0, 10, PAIRS)
    factual, flipped = (Images(pair_grey, c, rng) for c in (colours, other(colours, rng)))
    body = train(images, y, factual, pair_y, rng)
    X, C, Cbar = (part.through(body) for part in (images, factual, flipped))
    partial = out.with_suffix(".partial")
    write(partial, {"X": X, "y": y, "C": C, "Cbar": Cbar, "pair_y": pair_y,
                    "theta": optimum(X, y).ravel(), "l2": np.array([L2])})
    partial.replace(out)


main()
