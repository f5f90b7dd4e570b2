"""Run by tests/cli/torch_training.py in the environment that has PyTorch: torch_steps.py PLUGIN.

Every method is written here a second time, in plain PyTorch, and both go 20 steps from the same start on the
same batches. The loss before each step must agree to 1e-5.
"""

import ctypes
import json
import math
import sys

import torch
from torch import nn
from torch.nn import functional as F

STEPS, ROWS, COLS, CLASSES, GROUPS, BATCH = 20, 96, 6, 3, 2, 16
MASK = (1 << 64) - 1
ORDER, GROUPED, NOISE, SWAP, NETWORKS = (k << 20 for k in range(1, 6))
TAKE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(ctypes.c_char), ctypes.c_uint64)
P, I64, C = ctypes.c_void_p, ctypes.c_int64, ctypes.c_char_p


class Rows(ctypes.Structure):
    _fields_ = [("rows", I64), ("cols", I64), ("X", P), ("y", P), ("a", P), ("directions", I64), ("direction", P)]


MESSAGE = [P, ctypes.c_size_t]


class Table(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("open", P), ("close", P), ("library", P), ("run", P), ("tail", P),
                ("train_open", ctypes.CFUNCTYPE(P, C, ctypes.POINTER(Rows), *MESSAGE)),
                ("train_close", ctypes.CFUNCTYPE(None, P)),
                ("train_run", ctypes.CFUNCTYPE(ctypes.c_int, P, I64, P, *MESSAGE)),
                ("train_save", ctypes.CFUNCTYPE(ctypes.c_int, P, TAKE, P, *MESSAGE)),
                ("train_load", ctypes.CFUNCTYPE(ctypes.c_int, P, C, ctypes.c_uint64, *MESSAGE)),
                ("train_layer", ctypes.CFUNCTYPE(ctypes.c_int, P, ctypes.c_int32, ctypes.POINTER(I64),
                                                 ctypes.POINTER(I64), P, *MESSAGE))]


def open_table(path):
    library = ctypes.CDLL(path)
    library.fmd_torch.restype = ctypes.POINTER(Table)
    return library.fmd_torch().contents


# ---- the data, and random numbers by their place


def mixed(x):
    x = (x + 0x9e3779b97f4a7c15) & MASK
    x = ((x ^ (x >> 30)) * 0xbf58476d1ce4e5b9) & MASK
    x = ((x ^ (x >> 27)) * 0x94d049bb133111eb) & MASK
    return x ^ (x >> 31)


def bits(seed, stream, index):
    return mixed((mixed((mixed(seed) + stream) & MASK) + index) & MASK)


def uniform(seed, stream, shape, low, high):
    numbers = [(bits(seed, stream, i) >> 40) * 2.0**-24 for i in range(math.prod(shape))]
    return low + (high - low) * torch.tensor(numbers, dtype=torch.float32).reshape(shape)


def permutation(seed, stream, count):
    order = list(range(count))
    for i in range(count - 1, 0, -1):
        j = bits(seed, stream, i) % (i + 1)
        order[i], order[j] = order[j], order[i]
    return torch.tensor(order)


torch.manual_seed(3)
torch.set_num_threads(1)
X = torch.randn(ROWS, COLS)
A = torch.randint(0, GROUPS, (ROWS,))
Y = ((X[:, 0] + .8 * (A * 2 - 1) + .5 * torch.randn(ROWS)) > 0).long() + (X[:, 1] > 1).long()
DIRECTIONS = torch.randn(2, COLS)
SEED = 11


def make_net(number, widths, relu_at_end=False):
    """The same start as in the plug-in: uniform in +-1 / sqrt(inputs)."""
    layers = []
    for k, (inputs, outputs) in enumerate(zip(widths, widths[1:])):
        layer, side = nn.Linear(inputs, outputs), 1 / math.sqrt(inputs)
        stream = NETWORKS + 1000 * number + 2 * k
        with torch.no_grad():
            layer.weight.copy_(uniform(SEED, stream, layer.weight.shape, -side, side))
            layer.bias.copy_(uniform(SEED, stream + 1, layer.bias.shape, -side, side))
        layers += [layer, nn.ReLU()]
    return nn.Sequential(*(layers if relu_at_end else layers[:-1]))


def batch_of(step):
    per_epoch = ROWS // BATCH
    order = permutation(SEED, ORDER + step // per_epoch, ROWS)
    first = step % per_epoch * BATCH
    return order[first:first + BATCH]


def balanced_batch(step):
    cells = [torch.nonzero(Y * GROUPS + A == g).squeeze(1) for g in range(CLASSES * GROUPS)]
    present = [cell for cell in cells if len(cell)]
    rows = []
    for i in range(BATCH):
        cell = present[bits(SEED, GROUPED + step, 2 * i) % len(present)]
        rows.append(int(cell[bits(SEED, GROUPED + step, 2 * i + 1) % len(cell)]))
    return torch.tensor(rows)


# ---- the methods in plain PyTorch; each gives the losses of its steps

WIDTHS = [COLS, 8, 5, CLASSES]


def descend(optimizer, loss, retain=False):
    optimizer.zero_grad()
    loss.backward(retain_graph=retain)
    optimizer.step()
    return loss.item()


def plain(s):
    net = make_net(0, WIDTHS)
    adam = torch.optim.Adam(net.parameters(), lr=s["rate"], weight_decay=s["decay"])
    for step in range(STEPS):
        for group in adam.param_groups:
            group["lr"] = s["rate"] * s["rate_factor"] ** max(0, (step - s["rate_from"]) // s["rate_every"])
        rows = batch_of(step)
        yield descend(adam, F.cross_entropy(net(X[rows]), Y[rows]))


def groupdro(s):
    net = make_net(0, WIDTHS)
    sgd = torch.optim.SGD(net.parameters(), lr=s["rate"], momentum=.9, weight_decay=s["decay"])
    cells = CLASSES * GROUPS
    q = torch.ones(cells) / cells
    sizes = torch.bincount(Y * GROUPS + A, minlength=cells).float()
    for step in range(STEPS):
        rows = balanced_batch(step)
        losses = F.cross_entropy(net(X[rows]), Y[rows], reduction="none")
        cell = Y[rows] * GROUPS + A[rows]
        means = torch.stack([losses[cell == g].mean() if (cell == g).any() else torch.zeros(()) for g in range(cells)])
        q = q * torch.exp(s["eta"] * (means.detach() + s["adjustment"] / sizes.clamp_min(1).sqrt()))
        q = q / q.sum()
        yield descend(sgd, (q * means).sum())


class Ema:
    def __init__(self):
        self.value = [None] * ROWS

    def update(self, rows, losses):
        for row, loss in zip(rows.tolist(), losses.tolist()):
            old = self.value[row]
            self.value[row] = loss if old is None else .7 * old + .3 * loss
        largest = [max([v for v, y in zip(self.value, Y.tolist()) if v is not None and y == k], default=0)
                   for k in range(CLASSES)]
        return torch.tensor([self.value[r] / (largest[Y[r]] + 1e-8) for r in rows.tolist()])


def weights(biased, net, rows, loss_biased, loss):
    one, two = biased.update(rows, loss_biased.detach()), net.update(rows, loss.detach())
    return one / (one + two + 1e-8)


def gce(logits, y, q=.7):
    p = F.softmax(logits, 1)[torch.arange(len(y)), y].detach()
    return F.cross_entropy(logits, y, reduction="none") * q * p**q


def lff(s):
    biased, net = make_net(0, WIDTHS), make_net(1, WIDTHS)
    adam = torch.optim.Adam([*biased.parameters(), *net.parameters()], lr=s["rate"], weight_decay=s["decay"])
    of_biased, of_net = Ema(), Ema()
    for step in range(STEPS):
        rows = batch_of(step)
        x, y = X[rows], Y[rows]
        by_biased, loss = biased(x), F.cross_entropy(net(x), y, reduction="none")
        weight = weights(of_biased, of_net, rows, F.cross_entropy(by_biased, y, reduction="none"), loss)
        yield descend(adam, gce(by_biased, y).mean() + (weight * loss).mean())


def ldr(s):
    code = s["code"]
    inner, biased = make_net(0, [*WIDTHS[:-1], code], True), make_net(1, [*WIDTHS[:-1], code], True)
    head, biased_head = make_net(2, [2 * code, CLASSES]), make_net(3, [2 * code, CLASSES])
    everything = [p for net in (inner, biased, head, biased_head) for p in net.parameters()]
    adam = torch.optim.Adam(everything, lr=s["rate"], weight_decay=s["decay"])
    of_biased, of_net = Ema(), Ema()
    for step in range(STEPS):
        rows = batch_of(step)
        x, y = X[rows], Y[rows]
        z, zb = inner(x), biased(x)
        out = head(torch.cat([z, zb.detach()], 1))
        out_biased = biased_head(torch.cat([z.detach(), zb], 1))
        loss = F.cross_entropy(out, y, reduction="none")
        weight = weights(of_biased, of_net, rows, F.cross_entropy(out_biased, y, reduction="none"), loss)
        total = (weight * loss).mean() + s["lambda_dis"] * gce(out_biased, y).mean()
        if step >= s["swap_from"]:
            order = permutation(SEED, SWAP + step, BATCH)
            swapped = zb[order]
            one = F.cross_entropy(head(torch.cat([z, swapped.detach()], 1)), y, reduction="none")
            two = gce(biased_head(torch.cat([z.detach(), swapped], 1)), y[order])
            total = total + s["lambda_swap"] * ((weight * one).mean() + s["lambda_swap_biased"] * two.mean())
        yield descend(adam, total)


def hsic(one, two):
    def kernel(z):
        k = torch.exp(-torch.cdist(z, z, compute_mode="donot_use_mm_for_euclid_dist").pow(2) / 2)
        return k * (1 - torch.eye(len(z)))
    k, l, m = kernel(one), kernel(two), len(one)
    ones = torch.ones(m)
    return (torch.trace(k @ l) + (ones @ k @ ones) * (ones @ l @ ones) / ((m - 1) * (m - 2))
            - 2 / (m - 2) * (ones @ k @ l @ ones)) / (m * (m - 3))


def rebias(s):
    net, biased = make_net(0, WIDTHS), make_net(1, [COLS, s["biased_width"], CLASSES])
    own = torch.optim.Adam(net.parameters(), lr=s["rate"], weight_decay=s["decay"])
    other = torch.optim.Adam(biased.parameters(), lr=s["rate"], weight_decay=s["decay"])
    for step in range(STEPS):
        rows = batch_of(step)
        x, y = X[rows], Y[rows]
        zb = biased[:-1](x)
        first = descend(other, F.cross_entropy(biased[-1](zb), y) - hsic(zb, net[:-1](x)))
        z = net[:-1](x)
        yield first + descend(own, F.cross_entropy(net[-1](z), y) + hsic(z, biased[:-1](x)))


def fair_distance():
    basis = torch.linalg.qr(DIRECTIONS.double().T)[0]
    left = (torch.eye(COLS).double() - basis @ basis.T).float()
    return lambda one, two: ((one - two) @ left * (one - two)).sum(1)


def attack(s, step, x, objective):
    delta = uniform(SEED, NOISE + step, x.shape, -.1, .1).requires_grad_()
    adam = torch.optim.Adam([delta], lr=s["attack_rate"])
    for _ in range(s["attack_steps"]):
        adam.zero_grad()
        (-objective(x + delta)).backward()
        adam.step()
    return (x + delta).detach()


def sensr(s):
    net, apart, lamb = make_net(0, WIDTHS), fair_distance(), 1.0
    adam = torch.optim.Adam(net.parameters(), lr=s["rate"], weight_decay=s["decay"])
    for step in range(STEPS):
        rows = batch_of(step)
        x, y = X[rows], Y[rows]
        worst = attack(s, step, x, lambda w: F.cross_entropy(net(w), y) - lamb * apart(x, w).mean())
        lamb = max(0.0, lamb - s["lambda_rate"] * (s["epsilon"] - apart(x, worst).mean().item()))
        yield descend(adam, F.cross_entropy(net(worst), y))


def sensei(s):
    net, apart, lamb = make_net(0, WIDTHS), fair_distance(), 1.0
    adam = torch.optim.Adam(net.parameters(), lr=s["rate"], weight_decay=s["decay"])
    for step in range(STEPS):
        rows = batch_of(step)
        x, y = X[rows], Y[rows]
        worst = attack(s, step, x, lambda w: ((net(w) - net(x)).pow(2).sum(1) - lamb * apart(x, w)).sum())
        d, eps = apart(x, worst).mean().item(), s["epsilon"]
        lamb = max(1e-5, lamb + max(d, eps) / min(d, eps) * (d - eps))
        out = net(x)
        yield descend(adam, (F.cross_entropy(out, y, reduction="none")
                             + s["rho"] * (out - net(worst)).pow(2).sum(1)).mean())


# ---- the plug-in

COMMON = {"hidden": WIDTHS[1:-1], "classes": CLASSES, "groups": GROUPS, "batch": BATCH, "seed": SEED, "rate": .01,
          "decay": 1e-3}
METHODS = {
    "plain": (plain, {"rate_every": 4, "rate_factor": .5, "rate_from": 6}),
    "groupdro": (groupdro, {"eta": .1, "adjustment": 1.0, "rate": .05}),
    "lff": (lff, {}),
    "ldr": (ldr, {"code": 4, "lambda_dis": 10.0, "lambda_swap": 1.0, "lambda_swap_biased": 10.0, "swap_from": 7}),
    "rebias": (rebias, {"biased_width": 4}),
    "sensr": (sensr, {"attack_steps": 5, "attack_rate": .02, "epsilon": .05, "lambda_rate": 1.0}),
    "sensei": (sensei, {"attack_steps": 5, "attack_rate": .02, "epsilon": .05, "rho": 5.0}),
}


class Training:
    def __init__(self, table, settings):
        self.table, self.message = table, ctypes.create_string_buffer(2000)
        self.held = [t.contiguous() for t in (X, Y.int(), A.int(), DIRECTIONS)]
        x, y, a, d = (t.data_ptr() for t in self.held)
        self.rows = Rows(ROWS, COLS, x, y, a, len(DIRECTIONS), d)
        self.it = table.train_open(json.dumps(settings).encode(), ctypes.byref(self.rows), *self.room())

    def room(self):
        return ctypes.cast(self.message, P), len(self.message)

    def run(self, steps):
        losses = (ctypes.c_double * steps)()
        assert self.table.train_run(self.it, steps, ctypes.cast(losses, P), *self.room()), self.message.value
        return list(losses)

    def save(self):
        parts = []
        take = TAKE(lambda _, data, size: parts.append(ctypes.string_at(data, size)))
        assert self.table.train_save(self.it, take, None, *self.room()), self.message.value
        return b"".join(parts)

    def load(self, state):
        return self.table.train_load(self.it, state, len(state), *self.room())

    def layers(self):
        sizes, made, k, count = (I64(), I64()), [], 0, 1
        while k < count:
            count = self.table.train_layer(self.it, k, sizes[0], sizes[1], None, *self.room())
            assert count > 0, self.message.value
            rows, cols = sizes[0].value, sizes[1].value
            numbers = (ctypes.c_double * (rows * cols + rows))()
            self.table.train_layer(self.it, k, sizes[0], sizes[1], ctypes.cast(numbers, P), *self.room())
            made.append(list(numbers))
            k += 1
        return made

    def close(self):
        self.table.train_close(self.it)


def check(table, name):
    loop, more = METHODS[name]
    settings = {**COMMON, **more, "method": name}
    expected = list(loop({"rate_every": 1 << 30, "rate_factor": 1, "rate_from": 0, **settings}))
    training = Training(table, settings)
    assert training.it, training.message.value
    losses = training.run(STEPS)
    worst = max(abs(one - two) / max(1, abs(two)) for one, two in zip(losses, expected))
    print(f"{name:9} loss {losses[0]:.6f} .. {losses[-1]:.6f}   largest difference {worst:.1e}")
    assert len(expected) == STEPS and worst < 1e-5, (name, losses, expected)
    end = training.layers()

    # The same again, stopped after 9 steps and taken up in a new training: the same bits.
    first = Training(table, settings)
    part = first.run(9)
    state = first.save()
    second = Training(table, settings)
    assert second.load(state), second.message.value
    assert part + second.run(STEPS - 9) == losses and second.layers() == end, name
    assert not second.load(state[: len(state) // 2])  # a cut off checkpoint is refused
    for one in (training, first, second):
        one.close()


def check_errors(table):
    for change, words in (({"method": "magic"}, "no method magic"), ({"classes": 2}, "a label outside 0 .. 1"),
                          ({"groups": 1}, "an attribute's value outside"), ({"batch": 0}, "a batch needs rows")):
        failed = Training(table, {**COMMON, "method": "plain", **change})
        assert not failed.it and words in failed.message.value.decode(), failed.message.value


def main():
    table = open_table(sys.argv[1])
    for name in METHODS:
        check(table, name)
    check_errors(table)


main()
