"""phases_compared.py RANGES FRAMES: compares one recording's phases by ranges and by frames.
Common phases come in the same order (a derived forward may be missing at first). The optimizer
allocates the same. By frames, backward has its part by ranges and the first gradient, which
backward() makes before it enters the engine. Prints calls, allocated bytes and launches of
both."""
import json
import sys

KINDS = {
    "enumerate(DataLoader)#": "data",
    "Optimizer.zero_grad#": "zero_grad",
    "Optimizer.step#": "optimizer",
}


def kind(phase):
    if phase["source"] in ("derived", "engine", "frames"):
        return phase["name"]
    return next((name for prefix, name in KINDS.items() if phase["name"].startswith(prefix)), None)


def read(path):
    report = json.load(open(path))
    phases = [phase for phase in report["phases"] if phase["style"] == "nested"]
    return report, {kind(phase): phase for phase in phases if kind(phase)}


def figures(phase):
    return (
        "%5d %9d %5d" % tuple(phase[key] for key in ("calls", "allocated_bytes", "launches"))
        if phase
        else "-"
    )


(head, told), (shown, frames) = (read(path) for path in sys.argv[1:3])
assert head["frames"] is None and shown["frames"]["shown"] > 0, "which is which"
assert all(phase["source"] == "frames" for phase in frames.values()), "sources are mixed"
both = [name for name in told if name in frames]
if head["forwards_unclear"]:
    both.remove("forward")
assert both == [name for name in frames if name in both], f"order: {list(told)}, {list(frames)}"
assert frames["optimizer"]["allocated_bytes"] == told["optimizer"]["allocated_bytes"], "optimizer"
first = frames["backward"]["allocated_bytes"] - told["backward"]["allocated_bytes"]
assert first == 512 * frames["backward"]["calls"], f"backward: {first} bytes more"
for name in dict.fromkeys((*told, *frames)):
    print(f"{name:10} {figures(told.get(name)):22} {figures(frames.get(name))}".rstrip())
