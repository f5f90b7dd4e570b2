"""Colored MNIST and its network, for the scripts that make jobs."""
import gzip
import sys

import numpy as np
import torch
from torch import nn

PALETTE = np.array([(251, 80, 43), (253, 233, 90), (172, 118, 148), (200, 212, 153), (22, 198, 250),
                    (82, 245, 114), (6, 60, 193), (142, 26, 194), (53, 100, 5), (213, 52, 68)])
RATIO, NOISE, PAIRS, EPOCHS, ACCURACY = 0.99, 0.005, 5000, 10, 0.5134


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
    """The hidden layers and the last one of the state that is nearest to ACCURACY."""
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
            state = {name: value.clone() for name, value in network.state_dict().items()}
            nearest = (abs(accuracy - ACCURACY), state)
    network.load_state_dict(nearest[1])
    return body, network[1]


class Job:
    """The digits of both jobs, and the network that was trained on them."""

    def __init__(self, folder, seed):
        rng = np.random.default_rng(seed)
        torch.manual_seed(seed)
        torch.set_num_threads(1)
        grey, self.y = digits(folder, "train")
        pair_grey, self.pair_y = (part[:PAIRS] for part in digits(folder, "t10k"))
        self.images = Images(grey, biased_colours(self.y, rng), rng)
        colours = rng.integers(0, 10, PAIRS)
        self.factual, self.flipped = (Images(pair_grey, c, rng) for c in (colours, other(colours, rng)))
        self.body, self.last = train(self.images, self.y, self.factual, self.pair_y, rng)

    def through(self, layers):
        """What the first hidden layers make of training digits, of c and of cbar."""
        part = self.body[:2 * layers]
        return [images.through(part) for images in (self.images, self.factual, self.flipped)]
