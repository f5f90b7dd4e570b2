"""The top three layers of the network, as a function of one vector of parameters."""
import torch

SIZES = (100, 100, 100, 10)


def unpack(theta):
    """The layers' matrices W | b."""
    parts, at = [], 0
    for a, b in zip(SIZES, SIZES[1:]):
        parts.append(theta[at:at + b * (a + 1)].reshape(b, a + 1))
        at += b * (a + 1)
    return parts


def logits(theta, X):
    layers = unpack(theta)
    for number, W in enumerate(layers):
        X = torch.addmm(W[:, -1], X, W[:, :-1].T)
        if number + 1 < len(layers):
            X = X.relu()
    return X


def penalty(theta, l2):
    return l2 / 2 * sum((W[:, :-1] ** 2).sum() for W in unpack(theta))


def flip_gap(theta, C, Cbar, y):
    p, q = (logits(theta, part).softmax(1).gather(1, y[:, None]) for part in (C, Cbar))
    return (p - q).abs().mean()
