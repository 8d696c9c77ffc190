"""Trains a model of layers until memory is full: in a forward, with a batch eight times as large.
Then trains a list of unlike modules, whose forward fails. Then the state of an optimizer does not
fit beside activations. Modules are those of stand_in_torch.py.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "stacks"))
from fake_blocks import blocks, cuda  # noqa: E402
from stand_in_torch import Module, ModuleList, Sequential  # noqa: E402

MIB = 1 << 20
saved, names = [], {}
exec(compile("def _engine_run_backward(call):\n    return call()\n",
             "/opt/venv/lib/python3/site-packages/torch/autograd/graph.py", "exec"), names)
exec(compile("def wrapper(step):\n    return step()\n",
             "/opt/venv/lib/python3/site-packages/torch/optim/optimizer.py", "exec"), names)
engine, optimizer = names["_engine_run_backward"], names["wrapper"]


class Full(Exception):
    pass


def tensor(mib):
    at = blocks.allocate(0, mib * MIB)
    if not at:
        raise Full
    return at


class Saving(Module):
    def __init__(self, mib):
        super().__init__()
        self.mib = mib

    def forward(self):
        saved.append(tensor(self.mib * batch))


class Norm(Saving):
    pass


class Linear(Saving):
    pass


class Mlp(Module):
    def __init__(self):
        super().__init__()
        self.gate, self.down = Linear(20), Linear(10)

    def forward(self):
        self.gate()
        blocks.release(tensor(4 * batch))
        self.down()


class Layer(Module):
    def __init__(self):
        super().__init__()
        self.norm, self.attn, self.mlp = Norm(1), Linear(12), Mlp()

    def forward(self):
        self.norm()
        self.attn()
        self.mlp()


class Model(Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = Linear(3), Linear(9)
        self.layers = ModuleList([Layer() for _ in range(32)])

    def forward(self):
        self.embed()
        for layer in self.layers:
            layer()
        self.head()


def backward():
    while saved:
        gradient = tensor(2 * batch)
        blocks.release(saved.pop())
        blocks.release(gradient)
    return True


def train(model, batches):
    global batch
    for batch in batches:
        try:
            model()
            assert engine(backward)
        except Full:
            break
    while saved:
        blocks.release(saved.pop())


cuda.cuInit(0)
train(Model(), (1, 1, 1, 8))
pair = Sequential([Linear(300), Linear(300)])
train(Sequential([Linear(500), Norm(10), Linear(600), Norm(20), pair, Linear(900)]), (1, 1, 4))
model, batch = Model(), 4
model()
try:
    optimizer(lambda: tensor(5000))
except Full:
    pass
