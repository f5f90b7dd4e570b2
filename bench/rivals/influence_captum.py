"""Influence by captum: Arnoldi with its defaults, and the eigenvectors of the whole Hessian."""
from importlib.metadata import version

from captum.influence._core.arnoldi_influence_function import ArnoldiInfluenceFunction
from captum.influence._core.influence_function import NaiveInfluenceFunction

from job import run_rival
from torch_head import Head, Whole, flip_gap, loss, tensors


def way(kind, **settings):
    def prepare(job):
        X, y, pairs, pair_y = tensors(job)
        head, rows = Head(job), Whole(X, y).loader(len(X))

        def run():
            scores = kind(head, rows, checkpoint="", checkpoints_load_func=lambda model, path: 1.0,
                          loss_fn=loss, test_loss_fn=flip_gap, sample_wise_grads_per_batch=True,
                          **settings)
            return scores.influence((pairs, pair_y))[0].detach().numpy()
        return run
    return prepare


run_rival(version("captum"), {"arnoldi": way(ArnoldiInfluenceFunction),
                              "naive_all": way(NaiveInfluenceFunction, projection_dim=1010)})
