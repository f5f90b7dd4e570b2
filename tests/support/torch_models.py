"""Makes the models of tests/cli/torchscript.py in the current folder, and what each answers for test.csv."""

import csv
import ctypes
import json
import struct

import torch
from torch import nn

torch.manual_seed(5)
torch.set_num_threads(1)
rows = [[float(r["x1"]), float(r["x2"]), float(r["sex"])] for r in csv.DictReader(open("test.csv"))]
X = torch.tensor(rows)


class Net(nn.Module):
    def __init__(self, out, end):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 6), nn.BatchNorm1d(6), nn.Sigmoid(), nn.Linear(6, 5), nn.ReLU(),
                                  nn.Dropout(.2))
        self.fc = nn.Linear(5, out)
        self.end = end
        with torch.no_grad():
            self.body[1].running_mean.copy_(torch.linspace(-.5, .5, 6))
            for layer in (self.body[0], self.body[3], self.fc):
                layer.weight.mul_(2)

    def forward(self, x):
        return self.end(self.fc(self.body(x)))


class Flat(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(3, 5), nn.Linear(5, 1)
        with torch.no_grad():
            self.one.weight.copy_(torch.tensor([[.9, .1, .2], [.2, .8, -.3], [.1, .2, 1.1], [.3, .3, -.8],
                                                [-.5, .2, .4]]))
            self.one.bias.copy_(torch.tensor([.1, 0, -.4, .2, 0]))
            self.two.weight.copy_(torch.tensor([[1.5, 1.1, 1.4, -.9, -.7]]))
            self.two.bias.copy_(torch.tensor([-.31]))

    def forward(self, x):
        return torch.sigmoid(self.two(torch.tanh(self.one(x))))


class Wide(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(3, 5).double(), nn.Linear(5, 3).double()

    def forward(self, x):
        return self.two(torch.relu(self.one(x.double())))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(3, 3), nn.Linear(3, 3)
        self.two.weight = self.one.weight

    def forward(self, x):
        return self.two(torch.relu(self.one(x)))


class NoTail(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(3, 2)

    def forward(self, x):
        return torch.cumsum(self.one(x), 1)


class Block(nn.Module):
    """Of a ResNet."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.one = nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs))
        self.two = nn.Sequential(nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs))
        self.side = nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x):
        return torch.relu(self.two(torch.relu(self.one(x))) + self.side(x))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Block(3, 4, 1), Block(4, 6, 2), Block(6, 8, 2))
        self.pool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(8, 2)

    def forward(self, x):
        return self.fc(torch.flatten(self.pool(self.blocks(x)), 1))


def pictures(name):
    """3 x 8 x 8 numbers for each row of a table, as name.npy; x1, x2 and sex have a pattern each."""
    with open(name + ".csv", encoding="utf-8") as file:
        rows = torch.tensor([[float(r["x1"]), float(r["x2"]), float(r["sex"])] for r in csv.DictReader(file)])
    shown = (rows @ torch.randn(3, 192, generator=torch.Generator().manual_seed(1))).contiguous()
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(rows)}, 3, 8, 8), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(name + ".npy", "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(ctypes.string_at(shown.data_ptr(), 4 * shown.numel()))
    return shown.reshape(-1, 3, 8, 8)


made = {"script": (Net(1, nn.Sigmoid()), True), "trace": (Net(1, nn.Sigmoid()), False),
        "three": (Net(3, nn.Softmax(dim=1)), True), "logits": (Net(2, nn.Identity()), True),
        "flat": (Flat(), True), "wide": (Wide(), True)}
answers = {}
for name, (net, script) in made.items():
    net.eval()
    saved = torch.jit.script(net) if script else torch.jit.trace(net, X[:4])
    saved.save(name + ".pt")
    answers[name] = net(X).detach().double().tolist()
shown = {name: pictures(name) for name in ("repair", "test")}
resnet = ResNet().eval()
torch.jit.trace(resnet, shown["test"][:4]).save("resnet.pt")
json.dump(answers, open("answers.json", "w"))
torch.jit.script(Tied().eval()).save("tied.pt")
torch.jit.script(NoTail().eval()).save("no_tail.pt")
torch.jit.freeze(torch.jit.script(made["script"][0])).save("frozen.pt")
torch.save(Net(1, nn.Sigmoid()).state_dict(), "state.pt")
torch.save(made["flat"][0].state_dict(), "old.pt", _use_new_zipfile_serialization=False)
