"""EK-FAC of kronfluence on the top three layers: influence_kronfluence.py METHOD JOB OUT REPEATS"""
import shutil
import tempfile

import kronfluence
import numpy as np
import torch
from kronfluence.analyzer import Analyzer, prepare_model
from kronfluence.arguments import FactorArguments, ScoreArguments
from kronfluence.task import Task
from kronfluence.utils.dataset import DataLoaderKwargs
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import TensorDataset

from job import run_rival
from layers import unpack


BATCH = 256  # the fastest of 32, 64, 128, 256, 512, 1,024 and 4,096


class Bias(Task):
    """All pairs are one query, a batch of one sample with a place for each row: the flip gap itself."""

    def compute_train_loss(self, batch, model, sample=False):
        X, y = batch
        Z = model(X)
        if sample:
            y = torch.multinomial(Z.detach().softmax(1), 1).flatten()
        return cross_entropy(Z, y, reduction="sum")

    def compute_measurement(self, batch, model):
        pairs, y = batch
        p = model(pairs.flatten(1, 2)).softmax(2).reshape(-1, 2, 10)
        p = p.gather(2, y[0][:, None, None].expand(-1, 2, 1))
        return (p[:, 0] - p[:, 1]).abs().mean()


class Batches(TensorDataset):
    """Whole batches at once; collected row by row they would take a good part of the time."""

    def __getitems__(self, rows):
        return self[torch.as_tensor(rows)]


def as_it_is(batch):
    return batch


def network(theta):
    parts = []
    for W in unpack(torch.tensor(theta, dtype=torch.float32)):
        layer = nn.Linear(W.shape[1] - 1, W.shape[0])
        layer.load_state_dict({"weight": W[:, :-1].contiguous(), "bias": W[:, -1].contiguous()})
        parts += [layer, nn.ReLU()]
    return nn.Sequential(*parts[:-1])


def ekfac(job):
    torch.set_num_threads(1)
    X, C, Cbar = (torch.from_numpy(job[name].copy()) for name in ("X", "C", "Cbar"))
    y, pair_y = (torch.from_numpy(job[name].astype("int64")) for name in ("y", "pair_y"))
    train, query = Batches(X, y), Batches(torch.stack([C, Cbar], dim=1)[None], pair_y[None])

    def scores():
        folder = tempfile.mkdtemp()
        try:
            task = Bias()
            torch.manual_seed(1)
            analyzer = Analyzer("fmd", prepare_model(network(job["theta"]), task), task, cpu=True, output_dir=folder,
                                disable_tqdm=True, disable_model_save=True)
            analyzer.set_dataloader_kwargs(DataLoaderKwargs(collate_fn=as_it_is))
            analyzer.fit_all_factors("ekfac", train, per_device_batch_size=BATCH,
                                     factor_args=FactorArguments(strategy="ekfac"))
            analyzer.compute_pairwise_scores("scores", "ekfac", query, train, per_device_query_batch_size=1,
                                             per_device_train_batch_size=BATCH, score_args=ScoreArguments())
            # Its score is grad B . H^-1 grad L_k, the change of B without the row is that / n.
            found = analyzer.load_pairwise_scores("scores")["all_modules"]
            assert found.shape == (1, len(y)), found.shape
            return found[0].numpy() / len(y)
        finally:
            shutil.rmtree(folder)
    return scores


if __name__ == "__main__":
    run_rival(kronfluence.__version__, {"ekfac": ekfac})
