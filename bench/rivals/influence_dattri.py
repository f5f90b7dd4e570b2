"""Influence by dattri's conjugate gradients, with its 10 steps and with 200."""
from importlib.metadata import version

import torch
from dattri.algorithm.influence_function import IFAttributorCG
from dattri.task import AttributionTask

from job import run_rival
from torch_head import Head, Whole, flip_gap, loss, tensors


def steps(count):
    def prepare(job):
        X, y, pairs, pair_y = tensors(job)
        head = Head(job)

        def of(function):
            def value(params, data):
                return function(torch.func.functional_call(head, params, data[0]), data[1])
            return value

        task = AttributionTask(of(loss), head, head.state_dict(), target_func=of(flip_gap))
        # One batch: dattri solves again for every batch of training rows.
        rows, test = Whole(X, y).loader(len(X)), Whole(pairs, pair_y).loader(1)

        def run():
            attributor = IFAttributorCG(task, max_iter=count)
            attributor.cache(rows)
            with torch.no_grad():  # else it keeps the graph of every step: 3 times slower
                return attributor.attribute(rows, test)[:, 0].numpy() / len(X)
        return run
    return prepare


run_rival(version("dattri"), {"cg10": steps(10), "cg200": steps(200)})
