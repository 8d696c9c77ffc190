"""Forwards and backwards on the fake driver; the modules are those of stand_in_torch.py. Each
allocation has a size of its own. Writes the module of each size: backward_job.py OUT [ROUNDS]
"""
import ctypes
import json
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "stacks"))
from stand_in_torch import Module, ModuleList  # noqa: E402

MAKES_NODE, NO_NODE, NO_GRAD = range(3)
WORK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Node(ctypes.Structure):
    _fields_ = [("thread", ctypes.c_uint64), ("sequence", ctypes.c_uint64),
                ("work", ctypes.c_void_p), ("argument", ctypes.c_void_p)]


class Ranges(ctypes.Structure):
    """struct fake_ranges"""
    _fields_ = [(name, ctypes.c_void_p) for name in
                ("begin", "end", "backward", "backward_here", "added")] + [
        ("operate", ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_int, ctypes.c_void_p,
                                     ctypes.c_void_p)),
        ("thread", ctypes.CFUNCTYPE(ctypes.c_uint64)),
        ("run_nodes", ctypes.CFUNCTYPE(None, ctypes.POINTER(Node), ctypes.c_size_t)),
        ("run_nodes_here", ctypes.CFUNCTYPE(None, ctypes.POINTER(Node), ctypes.c_size_t))]


cuda = ctypes.CDLL("libcuda.so.1")
torch = ctypes.CDLL("libtorch_cpu.so")
ranges = Ranges.in_dll(ctypes.CDLL("libtorch_cpu_ranges.so"), "fake_ranges")
linear = torch["_ZN5torch8autograd18THPVariable_linearEm"]
apply_node = torch["_ZN5torch8autograd9generated14AddmmBackward05applyEm"]
linear.argtypes = apply_node.argtypes = [ctypes.c_size_t]
own = threading.local()
expected = {}
sizes = iter(range(1, 1 << 40))
kept = []


def size_of(module):
    size = 512 * next(sizes)
    expected[size] = module
    return size


def running():
    return own.stack[-1] if getattr(own, "stack", None) else None


def operate(makes=MAKES_NODE, work=None):
    """An operator; its node goes on the tape with the module that it must have."""
    if work is None:
        number = ranges.operate(makes, ctypes.cast(linear, ctypes.c_void_p), size_of(running()))
    else:
        number = ranges.operate(makes, ctypes.cast(WORK(work), ctypes.c_void_p), None)
    if makes == MAKES_NODE:
        own.tape.append((ranges.thread(), number, running()))


def watch(root):
    def enter(name):
        own.__dict__.setdefault("stack", []).append(name or "(root)")

    for name, module in root.named_modules():
        module._pre_hooks["twin"] = lambda _, name=name: enter(name)
        module._forward_hooks["twin"] = lambda _: own.stack.pop()
    return root


class Linear(Module):
    def forward(self):
        operate()


class Frozen(Module):
    """Its last operator begins with the number of the next node, and makes none."""
    def forward(self):
        operate(NO_GRAD)
        operate(NO_NODE)


class Composite(Module):
    """An operator whose inner one makes the node."""
    def forward(self):
        operate(NO_NODE, lambda _: operate())
        operate()


class Block(Module):
    def __init__(self):
        super().__init__()
        self.frozen, self.first, self.second = Frozen(), Linear(), Composite()

    def forward(self):
        self.frozen()
        self.first()
        self.second()
        operate()


class Model(Module):
    def __init__(self, layers=3):
        super().__init__()
        self.embed = Frozen()
        self.layers = ModuleList([Block() for _ in range(layers)])
        self.head = Linear()

    def forward(self):
        self.embed()
        for layer in self.layers:
            layer()
        self.head()


def native(thread, number, module):
    return Node(thread, number, ctypes.cast(apply_node, ctypes.c_void_p), size_of(module))


def python(thread, number, work):
    kept.append(WORK(lambda _: work()))
    return Node(thread, number, ctypes.cast(kept[-1], ctypes.c_void_p), None)


def run(nodes, how=ranges.run_nodes):
    how((Node * len(nodes))(*nodes), len(nodes))


def recompute(block, made_by):
    """As a checkpoint: forwards in a node, before and after which the node allocates."""
    own.tape = []
    linear(size_of(made_by))
    block()
    linear(size_of(made_by))
    # another call of the engine, inside this node
    run([native(*node) for node in reversed(own.tape)], ranges.run_nodes_here)
    apply_node(size_of(made_by))


def train(model, recomputed):
    own.tape = []
    model()
    operate()  # a loss: in no module
    operate(NO_GRAD)
    tape = list(reversed(own.tape))
    thread, number, _ = tape[0]
    nodes = [native(thread, number + 1, None)]  # no operator began with this number
    nodes += [native(*node) for node in tape]
    if recomputed:
        thread, number, module = tape[1]
        nodes.append(python(thread, number, lambda: recompute(recomputed, module)))
    run(nodes)
    apply_node(size_of(None))  # no node runs


def use_context():
    cuda.cuCtxSetCurrent(context)


context = ctypes.c_void_p()
cuda.cuInit(0)
cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
stream, function, module = (ctypes.c_void_p() for _ in range(3))
linear(size_of(None))
cuda.cuMemcpyHtoD_v2(ctypes.c_uint64(0), b"", ctypes.c_size_t(0))
cuda.cuModuleLoadData(ctypes.byref(module), b"image")
cuda.cuModuleGetFunction(ctypes.byref(function), module, b"gemm")
cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None)  # a quiet moment
model = watch(Model())
for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 2):
    train(model, list(model.layers)[1])
other = watch(Model(layers=2))


def beside():
    use_context()
    train(other, None)


thread = threading.Thread(target=beside)
thread.start()
thread.join()
with open(sys.argv[1], "w") as out:
    json.dump(expected, out)
