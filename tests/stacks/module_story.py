"""Calls modules in many ways on the fake driver. Each allocation has a size of its own; prints the
sums by the module whose forward runs, as hooks on all modules saw it: module_story.py OUT ROUNDS [CASE...]
"""
import collections
import ctypes
import functools
import gc
import json
import random
import sys
import threading

from stand_in_torch import Module, ModuleList, Sequential

cuda = ctypes.CDLL("libcuda.so.1")
library = ctypes.CDLL("libtorch_cpu.so")
linear = library["_ZN5torch8autograd18THPVariable_linearEm"]
linear.argtypes = [ctypes.c_size_t]

running = threading.local()
expected = collections.OrderedDict()  # by size: the module
sizes = iter(range(1, 1 << 40))


def allocate():
    size = 512 * next(sizes)
    stack = getattr(running, "stack", None)
    expected[size] = (stack[-1] or "(root)") if stack else None
    linear(size)


def watch(root):
    """Hooks that keep the name of the innermost running forward."""
    def enter(name, module):
        running.__dict__.setdefault("stack", []).append(name)

    for name, module in root.named_modules():
        module._pre_hooks["twin"] = functools.partial(enter, name)
        module._forward_hooks["twin"] = lambda module: running.stack.pop()
    return root


class Linear(Module):
    def forward(self):
        allocate()


class Quiet(Module):
    """Allocates only in its children."""
    def __init__(self, **children):
        super().__init__()
        for name, child in children.items():
            setattr(self, name, child)

    def forward(self):
        for child in self._modules.values():
            child()


class Block(Module):
    def __init__(self, act=None):
        super().__init__()
        self.attn = Quiet(q=Linear(), k=Linear(), v=Linear())
        self.mlp = Sequential([Linear(), Linear()])
        if act is not None:
            self.act = act

    def forward(self):
        self.attn()
        allocate()
        self.mlp()
        if "act" in self._modules:
            self.act()
        allocate()


class Model(Module):
    def __init__(self, layers=4, act=None):
        super().__init__()
        self.embed = Linear()
        self.layers = ModuleList([Block(act) for _ in range(layers)])
        self.head = Linear()

    def forward(self):
        allocate()
        self.embed()
        for layer in self.layers:
            layer()
        self.head()


class Slotted(Module):
    __slots__ = ("scale",)

    def forward(self):
        self.child()
        allocate()


def story_plain(rounds):
    model = watch(Model())
    for _ in range(rounds):
        model()
        allocate()


def story_shared(rounds):
    """One activation in all blocks: the name of the first one."""
    model = watch(Model(act=Linear()))
    for _ in range(rounds):
        model()


def story_wrapped(rounds):
    """A forward that functools wraps, one that is called past __call__, and slots."""
    model = Model(layers=2)
    model.extra = Slotted()
    model.extra.child = Linear()
    watch(model)

    @functools.wraps(Model.forward)
    def forward(*args):
        Model.forward(model, *args)
        model.extra()
        model.head.forward()  # of the caller

    object.__setattr__(model, "forward", forward)
    for _ in range(rounds):
        model()


def story_hidden(rounds):
    """Modules in a plain list have no name: their caller's is right."""
    class Hiding(Model):
        def forward(self):
            super().forward()
            for module in self.__dict__["hidden"]:
                module()

    model = Hiding(layers=2)
    object.__setattr__(model, "hidden", [Linear(), Linear()])
    watch(model)
    for _ in range(rounds):
        model()


def story_replaced(rounds):
    """Models that die, and whose addresses the next one has."""
    for k in range(rounds):
        model = Model(layers=1 + k % 5)
        if k % 2:
            parts = list(model.layers._modules.items())
            random.Random(k).shuffle(parts)
            model.layers._modules.clear()
            model.layers._modules.update(parts)
        watch(model)
        for _ in range(3):
            model()
        del model
        gc.collect()


def story_renamed(rounds):
    """A child that gets another name, and one that is put elsewhere."""
    model = watch(Model(layers=3))
    for k in range(rounds):
        model()
        head = model._modules.pop("head" if k % 2 == 0 else "tail")
        model._modules["head" if k % 2 else "tail"] = head
        object.__setattr__(model, "forward", lambda: [child() for child in
                                                      (model.embed, *model.layers, head)])
        watch(model)


def story_direct(rounds):
    """The outermost forward is called past __call__: its child is the root."""
    model = Quiet(inner=watch(Block()))
    for _ in range(rounds):
        model.forward()
        allocate()


def story_threads(rounds):
    models = [watch(Model(layers=2)) for _ in range(3)]

    def run(model):
        cuda.cuCtxSetCurrent(context)
        for _ in range(rounds):
            model()

    threads = [threading.Thread(target=run, args=(model,)) for model in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def story_alone(rounds):
    """A block that is called by itself, as a checkpoint does in backward, after the model."""
    model = watch(Model(layers=3))
    model()
    for _ in range(rounds):
        for layer in model.layers:
            layer()


def story_roots(rounds):
    """A module beside the model, as a loss is: another root, which the model's paths do not have."""
    class Loss(Quiet):
        pass

    model, loss = watch(Model(layers=2)), watch(Loss(inner=Linear()))
    for name, module in loss.named_modules():
        module._pre_hooks["twin"] = lambda _, name=name: running.stack.append("(Loss)" + ("." if name else "") + name)
    for _ in range(rounds):
        model()
        loss()


def story_large(rounds):
    """More modules than the recorder keeps, of many names."""
    for k in range(rounds):
        model = Quiet(**{"part_%d_%d" % (k, n): Linear() for n in range(400)})
        watch(model)
        model()


context = ctypes.c_void_p()
cuda.cuInit(0)
cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
cases = sys.argv[3:] or [name[len("story_"):] for name in dir() if name.startswith("story_")]
for case in cases:
    globals()["story_" + case](int(sys.argv[2]))
with open(sys.argv[1], "w") as out:
    json.dump(expected, out)
