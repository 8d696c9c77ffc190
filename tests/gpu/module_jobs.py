"""Small jobs of which judge_modules.py compares the modules: module_jobs.py NAME OUT [--twin] [--steps N]

NAME: llama, convolutions, checkpoint, replaced, gpt, compile, serve, ddp or fsdp (the last two under torchrun; OUT
gets the rank appended). Writes to OUT the number of allocations. With --twin, hooks on all modules also write which
forward began or ended after how many of them. NAME_backward: with --twin, also which node of autograd, by the module
that made it. Nodes are found in the graph: those behind the output of a module, but not behind what it was called
with, are of this module, or of one that it called.

compile: torch.compile traces hooks that exist, and leaves its graph at each. It does not notice hooks that come after
compilation (torch._dynamo.config.skip_nnmodule_hook_guards). So the first steps compile, then the twin gets its hooks,
and allocations count from there on (`first`). Hooks run for modules that Python calls: the compiled one, and two that
are left out of the compilation. `inlined` has those whose hooks never run, since they have no frames.
"""
import argparse
import functools
import json
import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from gpt_train import GPT, VOCABULARY
from note_moment import note
from role_jobs import KVCache, Server

WIDTH, LAYERS, TOKENS = 256, 6, 128

p = argparse.ArgumentParser(description=__doc__)
p.add_argument("name")
p.add_argument("out")
p.add_argument("--twin", action="store_true")
p.add_argument("--steps", type=int, default=3)
args = p.parse_args()
has_nodes = args.name.endswith("_backward")
running, changes = [], []  # running: name, and whether it is a node
nodes = {}  # of the step: the node and its module
hooked, called = set(), set()  # names of modules, without mere lists
first = 0  # the number of allocations from which on they are compared


def allocations():
    return torch.cuda.memory_stats()["allocation.all.allocated"]


def change():
    changes.append([allocations(), *(running[-1] if running else (None, False))])


def enter(name, is_node=False):
    running.append((name, is_node))
    change()


def leave(*_):
    running.pop()
    change()


def claim_nodes(tensors):
    """Gives the nodes behind the tensors that have no module yet to the module that runs."""
    name = running[-1][0] if running else None
    left = [t.grad_fn for t in tensors if torch.is_tensor(t) and t.grad_fn is not None]
    while left:
        node = left.pop()
        if node in nodes or node.name() == "torch::autograd::AccumulateGrad":
            continue
        nodes[node] = name
        left.extend(f for f, _ in node.next_functions if f is not None)
        if name:
            node.register_prehook(lambda _: enter(name, True))
            node.register_hook(lambda *_: leave())


def begins(name, module, inputs):
    if has_nodes and not any(is_node for _, is_node in running):
        claim_nodes(inputs)
    called.add(name)
    enter(name or "(root)")


def ends(module, inputs, output):
    if has_nodes and not any(is_node for _, is_node in running):
        claim_nodes([output])
    leave()


def watch(model, is_compiled=False):
    """Hooks come before and after all others, such as those in which FSDP gathers parameters."""
    begin, end = (torch.compiler.disable(f) if is_compiled else f for f in (begins, ends))
    for name, module in model.named_modules():
        if args.twin:
            if not isinstance(module, nn.ModuleList):
                hooked.add(name)
            module.register_forward_pre_hook(functools.partial(begin, name), prepend=True)
            module.register_forward_hook(end, always_call=True)  # a checkpoint ends its forward early
    return model


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            setattr(self, name, nn.Linear(WIDTH, WIDTH, bias=False))

    def forward(self, x):
        q, k, v = (f(x).view(*x.shape[:2], 4, -1).transpose(1, 2) for f in (self.q_proj, self.k_proj, self.v_proj))
        y = (q @ k.transpose(-2, -1)).softmax(-1) @ v
        return self.o_proj(y.transpose(1, 2).reshape(x.shape))


class Mlp(nn.Module):
    def __init__(self, act):
        super().__init__()
        self.gate_proj, self.up_proj = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(WIDTH, 2 * WIDTH)
        self.down_proj = nn.Linear(2 * WIDTH, WIDTH)
        self.act_fn = act

    def forward(self, x):
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, act):
        super().__init__()
        self.input_layernorm, self.post_attention_layernorm = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.self_attn, self.mlp = Attention(), Mlp(act)

    def forward(self, x):
        x = x + self.self_attn(self.input_layernorm(x))
        return x + self.mlp(self.post_attention_layernorm(x))


class Decoder(nn.Module):
    def __init__(self, layers, keeps_all):
        super().__init__()
        act = nn.SiLU()  # one for all layers
        self.embed_tokens = nn.Embedding(1000, WIDTH)
        self.layers = nn.ModuleList(Layer(act) for _ in range(layers))
        self.norm = nn.LayerNorm(WIDTH)
        self.keeps_all = keeps_all

    def forward(self, tokens):
        x = self.embed_tokens(tokens)
        for layer in self.layers:
            x = layer(x) if self.keeps_all else checkpoint(layer, x, use_reentrant=False)
        return self.norm(x)


class Llama(nn.Module):
    def __init__(self, layers=LAYERS, keeps_all=True):
        super().__init__()
        self.model = Decoder(layers, keeps_all)
        self.lm_head = nn.Linear(WIDTH, 1000, bias=False)

    def forward(self, tokens):
        return self.lm_head(self.model(tokens))


def train(model, *batch, loss_of=lambda out: out):
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(args.steps):
        optimizer.zero_grad()
        loss_of(model(*batch)).backward()
        nodes.clear()
        optimizer.step()
        note()


def tokens():
    return torch.arange(4 * TOKENS, device="cuda").view(4, TOKENS)


def loss_of_tokens(out):
    return F.cross_entropy(out.flatten(0, 1), tokens().flatten())


def llama():
    train(watch(Llama().cuda()), tokens(), loss_of=loss_of_tokens)


def run_checkpoint():
    train(watch(Llama(keeps_all=False).cuda()), tokens(), loss_of=loss_of_tokens)


def convolutions():
    def block(width):
        return nn.Sequential(nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU())

    stages = nn.ModuleDict({"stage%d" % k: nn.Sequential(block(32), block(32)) for k in range(3)})
    model = nn.Sequential(nn.Conv2d(3, 32, 3), *stages.values(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
    model = watch(model.cuda().to(memory_format=torch.channels_last))
    images = torch.ones(8, 3, 64, 64, device="cuda").to(memory_format=torch.channels_last)
    train(model, images, loss_of=lambda out: out.square().mean())


def replaced():
    for k in range(6):
        with torch.no_grad():
            model = watch(Llama(layers=1 + k % 3).cuda())
            for _ in range(3):
                model(tokens())
        del model


def make_gpt():
    return GPT(4, WIDTH, TOKENS, [torch.device("cuda", torch.cuda.current_device())])


def gpt():
    train(watch(make_gpt()), tokens(), tokens())


def run_compiled():
    global first
    model = make_gpt()
    for module in (model.word, model.norm):  # outside of the loop over blocks: Dynamo would give up all of it
        module.forward = torch.compiler.disable(module.forward)
    model = torch.compile(model)
    train(model, tokens(), tokens())
    torch.cuda.synchronize()
    first = allocations()
    train(watch(model, is_compiled=True), tokens(), tokens())


@torch.no_grad()
def serve():
    model = watch(Server(6, 512).half().cuda())
    cache = KVCache(6, 8, 512, 512)
    words = model(torch.randint(VOCABULARY, (8, 256)).cuda(), cache, 0)
    for number in range(args.steps * 8):
        words = model(words, cache, 256 + number)
    note()


def run_ranks():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    torch.distributed.init_process_group("nccl", device_id=torch.device("cuda", torch.cuda.current_device()))
    model = make_gpt()
    if args.name == "ddp":
        model = nn.parallel.DistributedDataParallel(model)
    else:
        from torch.distributed.fsdp import fully_shard

        for block in model.blocks:
            fully_shard(block)
        fully_shard(model)
    train(watch(model), tokens(), tokens())
    torch.cuda.synchronize()
    torch.distributed.destroy_process_group()
    args.out += "." + os.environ["RANK"]


{"llama": llama, "convolutions": convolutions, "checkpoint": run_checkpoint, "replaced": replaced, "gpt": gpt,
 "compile": run_compiled, "serve": serve, "ddp": run_ranks, "fsdp": run_ranks}[args.name.removesuffix("_backward")]()
torch.cuda.synchronize()
with open(args.out, "w") as out:
    json.dump({"allocations": allocations(), "first": first, "changes": changes, "inlined": sorted(hooked - called)}, out)
print("%d allocations" % (allocations() - first))
