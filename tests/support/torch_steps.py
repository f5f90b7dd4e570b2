"""Run by tests/cli/torch_training.py in the environment that has PyTorch: torch_steps.py PLUGIN GOLDEN.

Every method is written here a second time, in plain PyTorch, and both go 20 steps from the same start on the
same batches. The loss before each step must agree to 1e-5. SenSR and SenSeI must also give the losses of the
library inFairness, which GOLDEN (tests/golden/infairness.json) has.
"""

import ctypes
import hashlib
import json
import math
import pathlib
import struct
import sys

import torch
from torch import nn
from torch.nn import functional as F

STEPS, ROWS, CLASSES, GROUPS, BATCH = 20, 96, 3, 2, 16
IMAGE = [3, 8, 8]
COLS = math.prod(IMAGE)
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
                                                 ctypes.POINTER(I64), P, *MESSAGE)),
                ("train_answer", ctypes.CFUNCTYPE(ctypes.c_int, P, P, I64, I64, P, *MESSAGE))]


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
    return low + (high - low) * torch.tensor(numbers, dtype=torch.float32).reshape(tuple(shape))


def permutation(seed, stream, count):
    order = list(range(count))
    for i in range(count - 1, 0, -1):
        j = bits(seed, stream, i) % (i + 1)
        order[i], order[j] = order[j], order[i]
    return torch.tensor(order)


torch.manual_seed(3)
torch.set_num_threads(1)
X = torch.randn(ROWS, COLS)  # columns: 3 channels of 8 x 8 pixels
A = torch.randint(0, GROUPS, (ROWS,))
Y = ((X[:, 0] + .8 * (A * 2 - 1) + .5 * torch.randn(ROWS)) > 0).long() + (X[:, 1] > 1).long()
DIRECTIONS = torch.randn(2, COLS)
SEED = 11


class Start:
    """The same start as in the plug-in: every tensor of a network has a stream of its own."""

    def __init__(self, number):
        self.stream = NETWORKS + 1000 * number

    def fill(self, weights, side):
        with torch.no_grad():
            weights.copy_(uniform(SEED, self.stream, weights.shape, -side, side))
        self.stream += 1

    def dense(self, inputs, outputs):
        layer = nn.Linear(inputs, outputs)
        for weights in (layer.weight, layer.bias):
            self.fill(weights, 1 / math.sqrt(inputs))
        return layer

    def convolution(self, inputs, outputs, size, stride):
        layer = nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False)
        self.fill(layer.weight, math.sqrt(6 / (outputs * size * size)))
        return layer


def rows_hash():
    numbers = torch.cat([X.flatten(), DIRECTIONS.flatten(), Y.float()]).tolist()
    return hashlib.sha256(struct.pack(f"<{len(numbers)}f", *numbers)).hexdigest()


def make_net(number, widths, relu_at_end=False):
    start, layers = Start(number), []
    for inputs, outputs in zip(widths, widths[1:]):
        layers += [start.dense(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*(layers if relu_at_end else layers[:-1]))


class Block(nn.Module):
    """Of a ResNet: two convolutions, with what came in added at the end."""

    def __init__(self, start, inputs, outputs, stride):
        super().__init__()
        self.one = start.convolution(inputs, outputs, 3, stride)
        self.two = start.convolution(outputs, outputs, 3, 1)
        self.norm_one, self.norm_two = nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)
        self.side = nn.Identity()
        if stride > 1 or inputs != outputs:
            self.side = nn.Sequential(start.convolution(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))

    def forward(self, x):
        return F.relu(self.norm_two(self.two(F.relu(self.norm_one(self.one(x))))) + self.side(x))


class Mean(nn.Module):
    def forward(self, x):
        return x.mean((2, 3))


def resnet_body(start, image, width):
    layers = [nn.Unflatten(1, image), start.convolution(image[0], width, 7, 2), nn.BatchNorm2d(width), nn.ReLU(),
              nn.MaxPool2d(3, 2, 1)]
    inputs = width
    for stage in range(4):
        for block in range(2):
            layers.append(Block(start, inputs, width << stage, 2 if stage and not block else 1))
            inputs = width << stage
    return nn.Sequential(*layers, Mean())


class Pixels(nn.Module):
    """Sees one pixel at a time, and takes the mean."""

    def __init__(self, start, image, width):
        super().__init__()
        self.each = nn.Sequential(start.dense(image[0], width), nn.ReLU(), start.dense(width, width), nn.ReLU())
        self.channels = image[0]

    def forward(self, x):
        return self.each(x.unflatten(1, (self.channels, -1)).movedim(1, 2)).mean(1)


def body_and_head(s, number, code=None):
    """What the method trains: a body, and the last layer."""
    start = Start(number)
    if s.get("network") == "resnet18":
        body, width = resnet_body(start, s["image"], s["width"]), 8 * s["width"]
    else:
        widths = [COLS, *WIDTHS[1:-1]]
        if code:
            widths[-1] = code
        layers = []
        for inputs, outputs in zip(widths, widths[1:]):
            layers += [start.dense(inputs, outputs), nn.ReLU()]
        body, width = nn.Sequential(*layers), widths[-1]
    return body, (None if code else start.dense(width, CLASSES)), width


def network_of(s, number):
    body, head, _ = body_and_head(s, number)
    return nn.Sequential(body, head)


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
    net = network_of(s, 0)
    adam = torch.optim.Adam(net.parameters(), lr=s["rate"], weight_decay=s["decay"])
    for step in range(STEPS):
        for group in adam.param_groups:
            group["lr"] = s["rate"] * s["rate_factor"] ** max(0, (step - s["rate_from"]) // s["rate_every"])
        rows = batch_of(step)
        yield descend(adam, F.cross_entropy(net(X[rows]), Y[rows]))


def groupdro(s):
    net = network_of(s, 0)
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
    biased, net = network_of(s, 0), network_of(s, 1)
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
    (inner, _, width), (biased, _, _) = body_and_head(s, 0, code), body_and_head(s, 1, code)
    head, biased_head = make_net(2, [2 * width, CLASSES]), make_net(3, [2 * width, CLASSES])
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


def biased_network(s):
    start, width = Start(1), s["biased_width"]
    if s.get("biased") == "pixels":
        return nn.Sequential(Pixels(start, s["image"], width), start.dense(width, CLASSES))
    return nn.Sequential(nn.Sequential(start.dense(COLS, width), nn.ReLU()), start.dense(width, CLASSES))


def rebias(s):
    net, biased = network_of(s, 0), biased_network(s)
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
    net, apart, lamb = network_of(s, 0), fair_distance(), 1.0
    adam = torch.optim.Adam(net.parameters(), lr=s["rate"], weight_decay=s["decay"])
    for step in range(STEPS):
        rows = batch_of(step)
        x, y = X[rows], Y[rows]
        worst = attack(s, step, x, lambda w: F.cross_entropy(net(w), y) - lamb * apart(x, w).mean())
        lamb = max(0.0, lamb - s["lambda_rate"] * (s["epsilon"] - apart(x, worst).mean().item()))
        yield descend(adam, F.cross_entropy(net(worst), y))


def sensei(s):
    net, apart, lamb = network_of(s, 0), fair_distance(), 1.0
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
    "rebias, pixels": (rebias, {"biased_width": 4, "biased": "pixels", "image": IMAGE}),
    "sensr": (sensr, {"attack_steps": 5, "attack_rate": .02, "epsilon": .05, "lambda_rate": 1.0}),
    "sensei": (sensei, {"attack_steps": 5, "attack_rate": .02, "epsilon": .05, "rho": 5.0}),
}
# A small rate: batch norms of few rows make the losses of large steps depend on the last bits.
RESNET = {"network": "resnet18", "image": IMAGE, "width": 4, "rate": 1e-5}
for _name in ("plain", "groupdro", "lff", "ldr", "rebias"):
    METHODS[f"{_name}, resnet18"] = (METHODS[_name][0], {**METHODS[_name][1], **RESNET})


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

    def answer(self, x):
        found = torch.empty(len(x), CLASSES)
        assert self.table.train_answer(self.it, x.contiguous().data_ptr(), len(x), x.shape[1], found.data_ptr(),
                                       *self.room()), self.message.value
        return found

    def state(self):
        """The dense layers, or what another network answers."""
        if self.table.train_layer(self.it, 0, I64(), I64(), None, *self.room()) < 0:
            assert b"not dense" in self.message.value, self.message.value
            return self.answer(X).tolist()
        return self.layers()

    def sized_layers(self):
        sizes, made, k, count = (I64(), I64()), [], 0, 1
        while k < count:
            count = self.table.train_layer(self.it, k, sizes[0], sizes[1], None, *self.room())
            assert count > 0, self.message.value
            rows, cols = sizes[0].value, sizes[1].value
            numbers = (ctypes.c_double * (rows * cols + rows))()
            self.table.train_layer(self.it, k, sizes[0], sizes[1], ctypes.cast(numbers, P), *self.room())
            values = torch.tensor(list(numbers), dtype=torch.float32)
            made.append((values[: rows * cols].reshape(rows, cols), values[rows * cols:]))
            k += 1
        return made

    def layers(self):
        return [part.tolist() for layer in self.sized_layers() for part in layer]

    def close(self):
        self.table.train_close(self.it)


def check(table, name):
    loop, more = METHODS[name]
    settings = {**COMMON, **more, "method": name.split(",")[0]}
    expected = list(loop({"rate_every": 1 << 30, "rate_factor": 1, "rate_from": 0, **settings}))
    training = Training(table, settings)
    assert training.it, training.message.value
    losses = training.run(STEPS)
    worst = max(abs(one - two) / max(1, abs(two)) for one, two in zip(losses, expected))
    print(f"{name:18} loss {losses[0]:.6f} .. {losses[-1]:.6f}   largest difference {worst:.1e}")
    assert len(expected) == STEPS and worst < 1e-5, (name, losses, expected)
    end = training.state()
    assert (training.answer(X[:5]).shape) == (5, CLASSES)

    # The same again, stopped after 9 steps and taken up in a new training: the same bits.
    first = Training(table, settings)
    part = first.run(9)
    state = first.save()
    second = Training(table, settings)
    assert second.load(state), second.message.value
    assert part + second.run(STEPS - 9) == losses and second.state() == end, name
    assert not second.load(state[: len(state) // 2])  # a cut off checkpoint is refused
    for one in (training, first, second):
        one.close()


def check_answers(table):
    """What the plug-in answers is what its layers answer."""
    for name in ("plain", "ldr"):
        training = Training(table, {**COMMON, **METHODS[name][1], "method": name})
        training.run(5)
        z, layers = X, training.sized_layers()
        for k, (weight, bias) in enumerate(layers):
            z = F.linear(z, weight, bias)
            z = F.relu(z) if k + 1 < len(layers) else z
        assert (training.answer(X) - z).abs().max() < 1e-5, name
        training.close()


def check_library(table, path):
    """The losses of inFairness, from the same start on the same rows."""
    golden = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    assert golden["rows"] == rows_hash(), "other rows than inFairness had: make_golden.py infairness"
    for name, expected in golden["losses"].items():
        training = Training(table, {**COMMON, **METHODS[name][1], "method": name})
        losses = training.run(STEPS)
        worst = max(abs(one - two) / max(1, abs(two)) for one, two in zip(losses, expected))
        print(f"{name:18} against inFairness: largest difference {worst:.1e}")
        assert len(expected) == STEPS and worst < 1e-5, (name, losses, expected)
        training.close()


def check_errors(table):
    for change, words in (({"method": "magic"}, "no method magic"), ({"classes": 2}, "a label outside 0 .. 1"),
                          ({"groups": 1}, "an attribute's value outside"), ({"batch": 0}, "a batch needs rows"), ({"network": "cloud"}, "no network cloud"),
                          ({"network": "resnet18", "image": [3, 9, 9]}, "not the shape of the rows")):
        failed = Training(table, {**COMMON, "method": "plain", **change})
        assert not failed.it and words in failed.message.value.decode(), failed.message.value


def main():
    table = open_table(sys.argv[1])
    for name in METHODS:
        check(table, name)
    check_answers(table)
    check_library(table, sys.argv[2])
    check_errors(table)


if __name__ == "__main__":
    main()
