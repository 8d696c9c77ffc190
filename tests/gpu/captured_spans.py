"""Tests what is captured of a training job. captured_spans.py GPUPROF FOLDER runs the job once without limits, and
once for each way to choose spans. It compares the spans with the whole run: launches by number, memory events and
peaks to the byte, no lost events. captured_spans.py job is the job. Prints one PASS or FAIL line a claim."""
import json
import subprocess
import sys

STEPS, FROM, TO = 12, 5, 8  # the profiler starts before step FROM and stops after step TO; the first step is 1

WAYS = {
    "whole": [],
    "api": ["--capture-range=cudaProfilerApi"],
    "nvtx": ["--capture-range=nvtx:chosen"],
    "twice": ["--capture-range=nvtx:step@*", "--capture-range-end=outside:2"],
    "steps": ["--capture-range=step:%d-%d" % (FROM, TO)],
    "none": ["--capture-range=ctl"],
}
MEMORY = ("alloc", "block_alloc", "block_free")
# the recording ends with the span, the job continues
ENDED = ["--capture-range=nvtx:chosen", "--capture-range-end=stop"]


def job():
    import torch

    torch.manual_seed(1)
    model = torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(6))).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, foreach=False)
    batch = torch.randn(64, 512, device="cuda")
    for step in range(1, STEPS + 1):
        if step == FROM:
            torch.cuda.profiler.start()
            torch.cuda.nvtx.range_push("chosen")
        torch.cuda.nvtx.range_push("step")
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
        torch.cuda.synchronize()
        torch.cuda.nvtx.range_pop()
        if step == TO:
            torch.cuda.nvtx.range_pop()
            torch.cuda.profiler.stop()
    print("done")


def ask(gpuprof, *words):
    return subprocess.run([gpuprof, *words], stdout=-1, text=True, check=True).stdout


def look(gpuprof, name):
    """A recording's own figures, and its peaks."""
    info = json.loads(ask(gpuprof, "info", "--json", name))
    timeline = json.loads(ask(gpuprof, "timeline", "--json", "--points", "16", name))
    peaks = [{k: v for k, v in d.items() if k.endswith("_peak_bytes")} for d in timeline["devices"]]
    return info, peaks


def ranges_of(gpuprof, name, called, kinds):
    """Begin and end of each range of that name, and the times of the other events."""
    spans, others, begun = [], [], None
    words = ",".join([*kinds, "range_push", "range_pop"])
    for line in ask(gpuprof, "dump", "--json", "--kind", words, name).splitlines():
        event = json.loads(line)
        if event["kind"] in kinds:
            others.append((event["kind"], event["at_ns"]))
        elif event["kind"] == "range_push" and event["name"] == called:
            begun = event["at_ns"], event["depth"], event["thread"]
        elif event["kind"] == "range_pop" and begun and (event["depth"], event["thread"]) == begun[1:]:
            spans.append((begun[0], event["at_ns"]))
            begun = None
    return spans, others


def steps_of(gpuprof, name):
    """The number of launches in each range `step` of the whole run."""
    spans, launches = ranges_of(gpuprof, name, "step", ["launch"])
    return [sum(a <= t <= b for _, t in launches) for a, b in spans]


def claim(holds, what, *figures):
    print("PASS" if holds else "FAIL", "spans:", what, *(figures if not holds else ()))
    return holds


def judge(gpuprof, folder):
    found, fine = {}, True
    for way, options in WAYS.items():
        name = "%s/span_%s.gpr" % (folder, way)
        ask(gpuprof, "run", "-q", "-o", name, *options, "--", sys.executable, __file__, "job")
        found[way] = look(gpuprof, name)
    whole, peaks = found["whole"]
    each = steps_of(gpuprof, "%s/span_whole.gpr" % folder)
    fine &= claim(len(each) == STEPS, "the whole run has its steps", each)
    chosen = sum(each[FROM - 1 : TO])
    want = {"api": (1, chosen), "nvtx": (1, chosen), "twice": (2, sum(each[:2])), "steps": (1, chosen), "none": (0, 0)}
    for way, (spans, launches) in want.items():
        info, own = found[way]
        seen = info["captured"]["spans"], info["events"].get("launch", 0)
        fine &= claim(seen == (spans, launches), "%s captures its launches" % way, seen, (spans, launches))
        fine &= claim(own == peaks, "%s has the peaks of the whole run" % way, own, peaks)
        same = all(info["events"].get(k) == whole["events"].get(k) for k in MEMORY)
        fine &= claim(same, "%s has every memory event" % way, info["events"], whole["events"])
        check = info["self_check"]
        fine &= claim(not sum(info["lost"].values()) and not check["mismatches"] and not check["anomalies"],
                      "%s lost nothing and contradicts nothing" % way, info["lost"], check)
    return judge_ended(gpuprof, folder, chosen) and fine


def judge_ended(gpuprof, folder, chosen):
    """Checks that the recording ends exactly with the span, and that the job printed its last word."""
    name = "%s/span_ended.gpr" % folder
    said = ask(gpuprof, "run", "-q", "-o", name, *ENDED, "--", sys.executable, __file__, "job")
    info, _ = look(gpuprof, name)
    spans, memory = ranges_of(gpuprof, "%s/span_whole.gpr" % folder, "chosen", list(MEMORY))
    want = {k: sum(kind == k and t <= spans[0][1] for kind, t in memory) for k in MEMORY}
    found = {k: info["events"].get(k, 0) for k in MEMORY}
    fine = claim(said == "done\n", "the job goes on behind its recording", said)
    fine &= claim(info["captured"]["ended_by"] == "range" and info["complete"], "the recording ends with the span",
                  info["captured"], info["complete"])
    fine &= claim(info["events"].get("launch") == chosen, "ended captures its launches", info["events"], chosen)
    fine &= claim(found == want, "ended has every memory event until then", found, want)
    check = info["self_check"]
    return claim(not sum(info["lost"].values()) and not check["mismatches"] and not check["anomalies"],
                 "ended lost nothing and contradicts nothing", info["lost"], check) and fine


if sys.argv[1] == "job":
    job()
else:
    sys.exit(not judge(*sys.argv[1:3]))
