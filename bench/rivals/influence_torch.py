"""Influence in plain PyTorch: the float32 Hessian in blocks and a float64 Cholesky factor."""
import torch

from job import run_rival
from torch_head import Head, flip_gap, tensors

BLOCK = 2048


def hessian(X, P, l2):
    (n, d), C = X.shape, P.shape[1]
    H = torch.zeros(C, d, C, d, dtype=torch.float64)
    for x, p in zip(X.split(BLOCK), P.split(BLOCK)):
        for k in range(C):
            for j in range(k):
                H[k, :, j] -= x.T @ (x * (p[:, k] * p[:, j])[:, None])
    H += H.permute(2, 1, 0, 3).clone()
    for k in range(C):  # sum_j p_j = 1, so blocks of a row add up to 0
        H[k, :, k] = -H[k].sum(dim=1)
    H /= n
    penalty = torch.full((C, d), l2, dtype=torch.float64)
    penalty[:, -1] = 0
    H = H.reshape(C * d, C * d) + torch.diag(penalty.ravel())
    gauge = H.trace() / (C * d) / C
    return H + gauge * torch.kron(torch.ones(C, C), torch.eye(d))


def prepare(job):
    X, y, pairs, pair_y = tensors(job)
    head = Head(job)

    def run():
        weight, bias = torch.autograd.grad(flip_gap(head(pairs), pair_y), tuple(head.last.parameters()))
        G = torch.cat([weight, bias[:, None]], dim=1)
        with torch.no_grad():
            S = head.last(X).softmax(1)
            X1 = torch.cat([X, torch.ones(len(X), 1)], dim=1)
            factor = torch.linalg.cholesky(hessian(X1, S, head.l2))
            V = torch.cholesky_solve(G.double().reshape(-1, 1), factor).reshape(G.shape).float()
            S[torch.arange(len(y)), y] -= 1
            return (S * (X1 @ V.T)).sum(1) / len(y)
    return run


run_rival(torch.__version__, {"cholesky": prepare})
