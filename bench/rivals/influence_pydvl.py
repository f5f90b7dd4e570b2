"""Influence by pyDVL: conjugate gradients, a Nystroem sketch of rank 200, the whole Hessian."""
from importlib.metadata import version

from pydvl.influence.torch import CgInfluence, DirectInfluence, NystroemSketchInfluence

from job import run_rival
from torch_head import Head, Whole, flip_gap, loss, tensors

TINY = 1e-6  # the intercepts have a null direction, which pyDVL's direct solver refuses


def either(output, y):
    """pyDVL has one loss for training rows and test examples; they differ in their shape."""
    return flip_gap(output, y) if output.dim() == 4 else loss(output, y)


def way(make, penalty=True, batch=None):
    def prepare(job):
        X, y, pairs, pair_y = tensors(job)
        head, rows = Head(job, penalty), Whole(X, y).loader(batch or len(X))

        def run():
            model = make(head, float(job["l2"][0])).fit(rows)
            return model.influences(pairs, pair_y, X, y)[0].detach().numpy() / len(X)
        return run
    return prepare


run_rival(version("pydvl"), {
    # Its tolerances are squared, so that float32 never meets them: a number of steps instead.
    "cg200": way(lambda head, l2: CgInfluence(head, either, maxiter=200, warn_on_max_iteration=False)),
    "direct": way(lambda head, l2: DirectInfluence(head, either, regularization=TINY),
                  batch=2000),  # 10 GB with all rows at once
    # l2 as its regularisation: a sketch of a Hessian that contains it would lose it.
    "nystroem": way(lambda head, l2: NystroemSketchInfluence(head, either, regularization=l2,
                                                             rank=200), penalty=False)})
