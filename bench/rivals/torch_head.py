"""The job for libraries that differentiate PyTorch modules: the head, its losses, whole batches."""
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, Dataset


class Head(nn.Module):
    """Logits and, in one more column, the penalty of F, so that a loss of the output has it."""

    def __init__(self, job, penalty=True):
        super().__init__()
        W = torch.tensor(job["theta"], dtype=torch.float32).reshape(-1, job["X"].shape[1] + 1)
        self.last = nn.Linear(W.shape[1] - 1, W.shape[0])
        self.last.load_state_dict({"weight": W[:, :-1].contiguous(), "bias": W[:, -1].contiguous()})
        self.l2 = float(job["l2"][0]) if penalty else 0.0

    def forward(self, X):
        Z = self.last(X)
        # A product: the forward mode of torch.func.hessian makes float64 of weight**2.
        penalty = (self.l2 / 2 * self.last.weight * self.last.weight).sum()
        return torch.cat([Z, penalty.expand(Z.shape[:-1]).unsqueeze(-1)], dim=-1)


def loss(output, y):
    """F of a batch; its gradient has the same l2 W for each row, which no correlation sees."""
    return cross_entropy(output[..., :-1], y) + output[..., -1].mean()


def flip_gap(output, y):
    """B of (1, pairs, 2, classes + 1) and (1, pairs): all pairs are one test example."""
    p = output[..., :-1].softmax(-1).gather(-1, y[..., None, None].expand(*y.shape, 2, 1))
    return (p[..., 0, 0] - p[..., 1, 0]).abs().mean()


loss.reduction = flip_gap.reduction = "mean"  # captum asks


class Whole(Dataset):
    """Gives batches as slices; the usual loader would collect them row by row."""

    def __init__(self, *tensors):
        self.tensors = tensors

    def __len__(self):
        return len(self.tensors[0])

    def __getitem__(self, row):
        return tuple(t[row] for t in self.tensors)

    def __getitems__(self, rows):
        return tuple(t[rows[0]:rows[-1] + 1] for t in self.tensors)

    def loader(self, batch):
        return DataLoader(self, batch_size=batch, shuffle=False, collate_fn=lambda part: part)


def tensors(job):
    """X, y, and all pairs as one test example: (1, pairs, 2, features) and its labels."""
    torch.set_num_threads(1)
    X, C, Cbar = (torch.from_numpy(job[name].copy()) for name in ("X", "C", "Cbar"))
    y, pair_y = (torch.from_numpy(job[name].astype("int64")) for name in ("y", "pair_y"))
    return X, y, torch.stack([C, Cbar], dim=1)[None], pair_y[None]
