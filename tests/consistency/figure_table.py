"""The table of figures that two commands print, and how each is read: compare_figures.py compares them.

A figure has rows of a name, a command line and a function that reads the figure from the command's output.
It returns {key: value}; a key is a device, a curve or a number. Figures have the names of
docs/GLOSSARY.md.
"""
import json

from figure_readers import (
    CAUSES, MOMENTS, allocated_of_phases, at, at_peak, blocks_of_dump, checked, curves, curves_of_diff,
    curves_of_timeline, defaults_of_help, defaults_of_run, excess_of_timeline, figures_of_diff, first_holders,
    frag_at_peak, gaps_of_frag, holders_by_key, gaps_of_pools, gaps_of_timeline, groups_of, head, held_of_phases, held_of_ranges,
    highest_of, holders_of_check, last_event, launches, launches_of_dump, launches_of_info, launches_of_phases,
    most_unused, most_unused_of_ooms, named_frames, names_of_groups, number_line, numbers, of_thread, ooms_of_check,
    peaks_of_span, phases_by_name, pins, point_of_timeline, pools_of_frag, rates_of_leaks, reserved_of_frag,
    rows_of_stats,
    sums_by_name, suspects, total, unused_of_causes, unused_of_culprits, unused_of_frag, unused_of_timeline,
    verdict_of_check,
)

LIMITS = ("--max-peak 1G --max-reserved 1G --max-allocated 1G --max-growth 0 --max-frag 10% "
          "--min-headroom 5%")
CHECK = "check --json " + LIMITS
OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY
# kinds of records that define names and numbers, not events (docs/FORMAT.md)
DEFINITIONS = {"gpu", "kernel", "stream", "thread", "module", "fact", "context", "python_code", "native_frame",
               "python_frame", "call_stack", "arena", "range_name", "object_name", "communicator",
               "gpu_function"}


def moments(name):
    """Rows of the commands that accept a moment."""
    rows = [
        ("frag", f"frag --json --no-stacks --at {name}", at("at_ns")),
        ("top", f"top --json --no-stacks --top 1 --from {name}", at("from_ns")),
        ("leaks", f"leaks --json --no-stacks --from {name}", at("from_ns")),
        ("timeline", f"timeline --json --points 16 --to {name}", at("to_ns")),
        ("phases", f"phases --json --from {name}", at("from_ns")),
        # diff shows each curve at its own peak
        *([] if name == "peak" else [
            ("diff --at", f"diff --json --no-stacks --top 1 --at {name} FILE FILE", at("sides", 0, "at_ns"))]),
        ("diff --from", f"diff --json --no-stacks --top 1 --from {name}", at("sides", 0, "at_ns")),
        ("diff --to", f"diff --json --no-stacks --top 1 --from start --to {name}", at("sides", 1, "at_ns")),
    ]
    return rows


def bytes_of_blocks(span):
    """Rows of the commands that accept a span."""
    return [
        ("top", f"top --json --no-stacks {span}", curves("bytes")),
        ("top, sum of the groups", f"top --json --no-stacks --top 0 {span}", groups_of("bytes")),
        ("phases", f"phases --json --device 0 --depth 1 --top 0 {span}", allocated_of_phases),
        ("dump", f"dump --json --no-stacks --kind block_alloc {span}", blocks_of_dump),
    ]


EVENTS = "dump --json --no-stacks"
PEAK = "peak --json --no-stacks"
WATCH = "watch --json"
LEAKS = "leaks --json --no-stacks"
DIFF = "diff --json --no-stacks FILE FILE"
TIMELINE = "timeline --json --fragmentation"
EACH = (TIMELINE, PEAK, LEAKS, CHECK, "top --json --no-stacks", "oom --json --no-stacks", "phases --json",
        "idle --json --no-stacks", "frag --json --no-stacks --at end")
FIGURES = {
    "peak bytes of each curve": [
        ("timeline", TIMELINE, curves_of_timeline("bytes")),
        ("info", "info --json", curves("peak_bytes", "peaks")),
        ("peak", PEAK, curves("peak_bytes")),
        ("live bytes of peak", PEAK, curves("live_bytes")),
        ("sum of the holders of peak", PEAK, groups_of("bytes")),
        ("peak --by kind", PEAK + " --by kind", groups_of("bytes")),
        ("peak --by module", PEAK + " --by module", groups_of("bytes")),
        ("peak --tree", PEAK + " --tree", lambda d: {(c["device"], c["of"]): sum(
            node["bytes"] for node in c["tree"] if node["parent"] is None) for c in d["curves"]}),
        ("watch", WATCH, lambda d: {(x["device"], of): x[of]["peak_bytes"] for x in d["devices"]
                                    for of in ("driver", "reserved", "allocated") if x[of]["peak_bytes"]}),
        ("check", CHECK, checked("value")),
        ("check's holders", CHECK, holders_of_check(lambda h: h["live_bytes"])),
        ("sum of check's holders", CHECK, holders_of_check(lambda h: sum(g["bytes"] for g in h["groups"]))),
        ("diff", DIFF, figures_of_diff),
        ("curves of diff, A", DIFF, curves_of_diff(0)),
        ("curves of diff, B", DIFF, curves_of_diff(1)),
        ("frag --at peak", "frag --json --no-stacks --at peak", frag_at_peak("allocated")),
        ("frag --at peak:reserved", "frag --json --no-stacks --at peak:reserved", frag_at_peak("reserved")),
        ("frag --at peak:allocated", "frag --json --no-stacks --at peak:allocated", frag_at_peak("allocated")),
        *((f"{name} --at peak:{of}", line.replace("--at", f"--at peak:{of}"), highest_of(of, read))
          for of in ("driver", "reserved", "allocated", "pinned") for name, line, read in (
              ("peak", PEAK + " --at", curves("live_bytes")),
              ("diff", "diff --json --no-stacks --at FILE FILE", curves_of_diff(0)))),
        ("phases, first lines", "phases --json", curves("live_bytes", "peaks")),
        ("phases", "phases --json --device 0 --depth 1", lambda d: {(0, "allocated"): max(
            (p["peak_bytes"] or 0 for p in d["phases"]), default=0)} if d["of"] == "allocated" and d["phases"] else {}),
    ],
    "holders at the peak": [
        ("info", "info --json", lambda d: {None: [(h["device"], h["of"], h["key"], h["bytes"]) for h in d["holders"]]}
            if d["holders"] else {}),
        ("peak", PEAK, first_holders("peak_bytes")),
        ("peak --at peak", PEAK + " --at peak", first_holders("live_bytes")),
    ],
    "holders at the peak, by line": [
        ("info", "info --json", lambda d: {None: [(h["device"], h["of"], h["key"], h["bytes"]) for h in d["lines"]]}
            if d["lines"] else {}),
        ("peak --by line", PEAK + " --by line", first_holders("peak_bytes")),
    ],
    **{f"holders at the end, by {by}": [
        ("peak", f"{PEAK} --at end --top 0 --by {by}", holders_by_key("curves")),
        ("watch", f"{WATCH} --top 0 --by {by}", holders_by_key("devices")),
    ] for by in ("line", "library", "kind", "role")},
    "moment of each peak": [
        ("timeline", TIMELINE, curves_of_timeline("at_ns")),
        ("info", "info --json", curves("peak_at_ns", "peaks")),
        ("peak", PEAK, curves("peak_at_ns")),
        ("peak's own moment", PEAK, curves("at_ns")),
        ("check", CHECK, checked("at_ns")),
        ("phases, first lines", "phases --json", curves("at_ns", "peaks")),
    ],
    "peak is at least this": [
        ("info", "info --json", curves("at_least", "peaks")),
        ("peak", PEAK, curves("at_least")),
    ],
    "OOMs": [
        ("oom", "oom --json --no-stacks", lambda d: {None: len(d["ooms"])}),
        ("info", "info --json", at("ooms", "count")),
        ("timeline", TIMELINE, lambda d: {None: sum(len(device["ooms"]) for device in d["devices"])}),
        ("diff", DIFF, lambda d: {None: sum(device["ooms"][0] for device in d["devices"] if "ooms" in device)}),
        ("check", CHECK.replace("--json ", ""), ooms_of_check),
        ("info, line", "info", lambda text: {None: sum(numbers(r"^OOMs +([\d,]+)", text))}),
        ("frag --summary", "frag --summary --at end", lambda text: {
            None: sum(numbers(r"^OOMs +([\d,]+)", text))} if "OOMs" in text else {}),
        ("run, summary", "run", lambda text: {None: sum(numbers(r"([\d,]+) OOM", text))}),
    ],
    "OOMs that the framework reported": [
        ("info", "info --json", lambda d: {None: d["events"].get("oom", 0) - d["ooms"]["overwritten"]}),
        ("info, line", "info", lambda text: {None: sum(numbers(r"^OOMs +([\d,]+)", text)) - sum(
            numbers(r"^OOMs .*\(([\d,]+) of them outside PyTorch\)", text))}),
        ("dump", "dump --json --no-stacks --kind oom", lambda events: {None: len(events)}),
    ],
    "moments of OOMs": [
        ("oom", "oom --json --no-stacks", lambda d: dict(enumerate(sorted(o["at_ns"] for o in d["ooms"])))),
        ("timeline", TIMELINE, lambda d: dict(enumerate(sorted(
            o["at_ns"] for device in d["devices"] for o in device["ooms"])))),
        ("info", "info --json", lambda d: {0: d["ooms"]["first_ns"]}),
        ("frag --at oom", "frag --json --no-stacks --at oom", lambda d: {0: d["at_ns"]}),
    ],
    "failed CUDA calls": [
        ("oom", "oom --json --no-stacks", at("failed_cuda_calls")),
        ("timeline", TIMELINE, total("failed_cuda_calls")),
        ("info", "info --json", at("ooms", "failed_cuda_calls")),
        ("info, line", "info", lambda text: {None: sum(numbers(r"^OOMs .*; ([\d,]+) failed CUDA call", text))}),
        ("diff", DIFF, lambda d: {None: sum(device["failed_cuda_calls"][0] for device in d["devices"]
                                            if "failed_cuda_calls" in device)}),
        ("dump", "dump --json --no-stacks --kind alloc_failed", lambda events: {
            None: sum(event["code"] == OUT_OF_MEMORY for event in events)}),
    ],
    "bytes of each OOM": [
        ("oom", "oom --json --no-stacks", lambda d: dict(enumerate(sorted((o["at_ns"], o["device"], o["framework"], o["bytes"])
                                                                          for o in d["ooms"])))),
        ("timeline", TIMELINE, lambda t: dict(enumerate(sorted((o["at_ns"], v["device"], o["framework"], o["bytes"])
                                                               for v in t["devices"] for o in v["ooms"])))),
    ],
    "cause and missing bytes of the first OOM": [
        ("oom", "oom --json --no-stacks", lambda d: {
            0: (o["verdict"]["name"], o["bytes"], o["verdict"]["missing_bytes"]) for o in d["ooms"][:1]}),
        ("info", "info --json", lambda d: {
            0: (o["first_cause"], o["first_requested"], o["first_missing"]) for o in [d["ooms"]] if o["count"]}),
    ],
    "memory at each OOM": [
        ("oom", "oom --json --no-stacks", lambda d: {(o["at_ns"], key): o.get(key) for o in d["ooms"] if o["framework"]
                                                     for key in ("allocated_bytes", "reserved_bytes")}),
        ("dump", "dump --json --no-stacks --kind oom", lambda events: {
            (e["at_ns"], key + "_bytes"): e[key] for e in events for key in ("allocated", "reserved") if e.get(key)}),
    ],
    "unused bytes and owners at the first OOM": [
        ("oom", "oom --json --no-stacks", lambda d: {**d["ooms"][0]["state"]["causes"], **d["ooms"][0]["state"]["owners"]}
            if d["ooms"] and d["ooms"][0]["state"] else {}),
        ("frag", "frag --json --no-stacks --at oom", lambda d: {**d["devices"][0]["causes"], **d["devices"][0]["owners"]}
            if len(d["devices"]) == 1 else {}),
    ],
    "order of each OOM": [
        ("oom", "oom --json --no-stacks", lambda d: {o["order"]: o["at_ns"] for o in d["ooms"]}),
        ("dump", "dump --json --no-stacks --kind oom,alloc_failed", lambda events: {e["order"]: e["at_ns"] for e in events}),
    ],
    "pins at the first OOM": [
        ("oom", "oom --json --no-stacks", lambda d: pins(d["ooms"][0]["pins"]) if d["ooms"] and d["ooms"][0].get("pins") else {}),
        ("frag --at oom", "frag --json --no-stacks --at oom --top 0", lambda d: pins(d["devices"][0]["pins"])
            if len(d["devices"]) == 1 else {}),
    ],
    "ranges or stacks as phases": [
        (command, f"{command} --json --no-stacks --by range" + files,
         lambda d: {None: (d["sides"][0] if "sides" in d else d)["phases_by"]})
        for command, files in (("peak", ""), ("top", ""), ("diff", " FILE FILE"))
    ],
    "bytes and number of each role at the peak of PyTorch's memory": [
        ("peak --by role", PEAK + " --by role --of allocated", lambda d: {
            (c["device"], g["key"]): (g["bytes"], g["count"]) for c in d["curves"] for g in c["groups"]}),
        ("timeline --by role", "timeline --json --by role --points 16", lambda d: {
            (device["device"], g["key"]): (g["bytes"][k], g["count"][k]) for device in d["devices"]
            for groups in [device["roles"]["groups"]] if groups
            for totals in [[sum(g["bytes"][i] for g in groups) for i in range(len(device["roles"]["at_ns"]))]]
            for k in [totals.index(max(totals))] for g in groups if g["count"][k]}),
        ("info", "info --json", lambda d: {
            (p["device"], g["key"]): (g["bytes"], g["count"]) for g in d["roles"] or []
            for p in [max((p for p in d["peaks"] if p["of"] == "allocated"), key=lambda p: p["peak_bytes"])]}),
    ],
    "operator, node and library of a stack": [
        ("peak --at end", PEAK + " --at end", names_of_groups),
        ("top", "top --json --no-stacks", names_of_groups),
        ("peak", PEAK, names_of_groups),
    ],
    "steps until a leak fills the device": [
        ("leaks", LEAKS, lambda d: {full["device"]: full["steps_until_full"] for full in d["full"]}),
        ("leaks, suspects", LEAKS, lambda d: {s["device"]: s["steps_until_full"] for s in d["suspects"]
                                              if [t["device"] for t in d["suspects"]].count(s["device"]) == 1}),
    ],
    "blocks that pin free memory": [
        ("check --max-frag", CHECK, lambda d: {c["device"]: sum(sorted((p["hostage_bytes"] for p in c["pins"]), reverse=True)[:20])
                                               for c in d["culprits"] if c["pins"]}),
        ("frag --at peak:reserved", "frag --json --no-stacks --at peak:reserved --top 20", lambda d: {
            v["device"]: sum(p["hostage_bytes"] for p in v["pins"]) for v in d["devices"] if v["pins"] and len(d["devices"]) == 1}),
    ],
    "state of memory at the first OOM": [
        ("oom", "oom --json --no-stacks", lambda d: {key: d["ooms"][0]["state"][key] for key in (
            "reserved_bytes", "allocated_bytes", "releasable_bytes", "largest_request_bytes", "limit_bytes",
            "largest_after_release_bytes")}
            if d["ooms"] and d["ooms"][0]["state"] else {}),
        ("frag", "frag --json --no-stacks --at oom", lambda d: {key: d["devices"][0][key] for key in (
            "reserved_bytes", "allocated_bytes", "releasable_bytes", "largest_request_bytes", "limit_bytes",
            "largest_after_release_bytes")}
            if len(d["devices"]) == 1 else {}),
    ],
    "bytes live at the end": [
        ("leaks", LEAKS, curves("bytes", "live")),
        ("peak --at end", PEAK + " --at end", curves("live_bytes")),
        ("top", "top --json --no-stacks", curves("live_bytes")),
        ("diff --at end", "diff --json --no-stacks --at end FILE FILE", curves_of_diff(0)),
        ("diff --to end", "diff --json --no-stacks --from start", curves_of_diff(1)),
        ("timeline", TIMELINE, lambda t: {**{(d["device"], of): d["points"][-1][k] for d in t["devices"] if d["points"]
            for k, of in ((1, "driver"), (2, "reserved"), (3, "allocated")) if d[f"{of}_peak_bytes"]},
            **({(None, "pinned"): t["host"]["points"][-1][1]} if t["host"] and t["host"]["points"] else {})}),
        ("frag --at end", "frag --json --no-stacks --at end", lambda d: {(device["device"], of): device[of + "_bytes"]
            for device in d["devices"] for of in ("allocated", "reserved") if device["reserved_bytes"]}),
    ],
    **{f"bytes live at a moment without an event, {name}": [
        ("peak --at", f"{PEAK} --at {name}", curves("live_bytes")),
        ("frag --at", f"frag --json --no-stacks --at {name}", reserved_of_frag),
        ("top --to", f"top --json --no-stacks --to {name}", curves("live_bytes")),
        ("timeline --from", f"timeline --json --points 16 --from {name}", point_of_timeline(0)),
        ("timeline --to", f"timeline --json --points 16 --to {name}", point_of_timeline(-1)),
        ("timeline, only point", f"timeline --json --points 16 --from {name} --to {name}", point_of_timeline(0)),
        ("timeline, peak of the point", f"timeline --json --points 16 --from {name} --to {name}", peaks_of_span),
        ("diff --from", f"diff --json --no-stacks --from {name}", curves_of_diff(0)),
        ("diff --to", f"diff --json --no-stacks --from start --to {name}", curves_of_diff(1)),
        ("diff --at", f"diff --json --no-stacks --at {name} FILE FILE", curves_of_diff(0)),
    ] for name in MOMENTS},
    **{f"bytes allocated {side} a moment without an event, {name}": bytes_of_blocks(f"{option} {name}")
       for name in MOMENTS for side, option in (("behind", "--from"), ("until", "--to"))},
    "bytes allocated over the recording": [
        ("top", "top --json --no-stacks", curves("bytes")),
        ("top, sum of the groups", "top --json --no-stacks --top 0", groups_of("bytes")),
        ("top --by kind", "top --json --no-stacks --top 0 --by kind", groups_of("bytes")),
        ("top --by role", "top --json --no-stacks --top 0 --by role", groups_of("bytes")),
        ("top --by module", "top --json --no-stacks --top 0 --by module", groups_of("bytes")),
        ("phases", "phases --json --device 0 --depth 1 --top 0", allocated_of_phases),
    ],
    "bytes of each phase held at the peak": [
        ("phases", "phases --json --top 0", held_of_phases),
        ("peak --by range", "peak --json --no-stacks --top 0 --by range", held_of_ranges),
    ],
    "phase in which the peak lies": [
        ("phases", "phases --json", lambda d: {(p["device"], p["of"]): p["phase"] for p in d["peaks"]}),
        ("peak --by range", "peak --json --no-stacks --by range", lambda d: {
            (c["device"], c["of"]): c["phase"] for c in d["curves"]}),
    ],
    "bytes held by a phase at the peak, with its inner ranges": [
        ("phases, first lines", "phases --json", lambda d: {
            (p["device"], p["of"], part["phase"]): part["bytes"] for p in d["peaks"] for part in p["phases"]}),
        ("peak --by range, groups of a phase", "peak --json --no-stacks --top 0 --by range", lambda d: {
            (c["device"], c["of"], phase): sum(g["bytes"] for g in c["groups"] if g["phase"] == phase)
            for c in d["curves"] for phase in {g["phase"] for g in c["groups"]}}),
    ],
    "bytes of a line at the peak": [
        ("phases, sum over phases", "phases --json", lambda d: {
            (p["device"], p["of"], key): sum(line["bytes"] for part in p["phases"] for line in part["lines"] if line["key"] == key)
            for p in d["peaks"] for key in {line["key"] for part in p["phases"] for line in part["lines"]}}),
        ("peak --by line", "peak --json --no-stacks --top 0 --by line", lambda d: {
            (c["device"], c["of"], g["key"]): g["bytes"] for c in d["curves"] for g in c["groups"]} if d["has_stacks"] else {}),
    ],
    "bytes freed over the recording": [
        ("phases", "phases --json --depth 1 --top 0", lambda d: {d["of"]: sum(p["freed_bytes"] for p in of_thread(d))}),
        ("phases --recorded-only", "phases --json --depth 1 --top 0 --recorded-only", lambda d: {
            d["of"]: sum(p["freed_bytes"] for p in of_thread(d))}),
    ],
    "live bytes of a stack that leaks pinned memory": [
        ("leaks", "leaks --json", lambda d: {json.dumps(s["stack"]): s["live_bytes"] for s in d["objects"]
                                             if s["kind"] == "host"}),
        ("top", "top --json --top 0", lambda d: {json.dumps(g["stack"]): g["live_bytes"] for c in d["curves"]
                                                 if c["of"] == "pinned" for g in c["groups"] if g.get("stack")}),
        ("peak --at end", "peak --json --top 0 --at end", lambda d: {json.dumps(g["stack"]): g["bytes"] for c in d["curves"]
                                                                     if c["of"] == "pinned" for g in c["groups"] if g.get("stack")}),
    ],
    "allocations live at the end": [
        ("leaks", LEAKS, curves("count", "live")),
        ("peak --at end", PEAK + " --at end", groups_of("count")),
        ("top", "top --json --no-stacks", curves("live_count")),
    ],
    "events": [
        ("run, summary", "run", lambda text: {None: numbers(r"recorded ([\d,]+) event", text)[0]}),
        ("info, headline", "info", lambda text: {None: numbers(r" ([\d,]+) events?, ", text)[0]}),
        ("timeline, headline", "timeline", lambda text: {None: numbers(r" ([\d,]+) events?, ", text)[0]}),
        ("verify", "verify", lambda text: {None: numbers(r"^([\d,]+) events?", text)[0]}),
        ("info, sum of its kinds", "info --json", lambda d: {None: sum(
            number for kind, number in d["events"].items() if kind not in DEFINITIONS)}),
        ("diff, sum of its kinds", DIFF, lambda d: {None: sum(d["sides"][0]["events"].values())}),
        ("info, by its bytes an event", "info --json", lambda d: {None: round(
            d["events_bytes"] / d["bytes_per_event"])} if d["bytes_per_event"] else {}),
    ],
    "events of each kind": [
        ("info", "info --json", lambda d: d["events"]),
        ("diff", DIFF, lambda d: d["sides"][0]["events"]),
    ],
    "launches": [
        ("info", "info --json", launches),
        ("info, line", "info", launches_of_info),
        ("phases", "phases --json", launches),
        ("phases, sum of them", "phases --json --depth 1 --top 0", launches_of_phases),
        ("diff", DIFF, lambda d: launches(d["sides"][0])),
        ("graphs", "graphs --json --no-stacks", launches),
        ("idle", "idle --json --no-stacks", lambda d: launches(d["uses"]) if d["has_uses"] else {}),
        ("dump", "dump --json --no-stacks --kind launch,graph_launch", launches_of_dump),
    ],
    "bytes of each private pool": [
        ("frag", "frag --json --no-stacks --at end", pools_of_frag),
        ("graphs", "graphs --json --no-stacks", lambda d: {
            tuple(p["pool"]): (p["bytes"], p["allocated_bytes"]) for p in d["pools"] if p["bytes"]}),
    ],
    "GPU time of kernels": [
        ("kernels", "kernels --json --no-stacks", lambda d: {key: d[key] for key in ("total_ns", "total_count")}
            if d["total_count"] else {}),
        ("stats, kernels", "stats -r cuda_gpu_kern_sum --format json", lambda text: {
            key: sum(row[head] for row in rows_of_stats(text))
            for key, head in (("total_ns", "Total Time (ns)"), ("total_count", "Instances"))}),
        ("stats, trace", "stats -r cuda_gpu_trace --format json", lambda text: {
            key: sum(row["Duration (ns)"] if key == "total_ns" else 1 for row in rows_of_stats(text)
                     if row["GrdX"] is not None) for key in ("total_ns", "total_count")}),
    ],
    "GPU time of copies": [
        ("kernels", "kernels --json --no-stacks", lambda d: {
            key: d["copies"][key] + d["sets"][key] for key in ("count", "total_ns")} if d["has_gpu_time"] else {}),
        ("stats", "stats -r cuda_gpu_mem_time_sum --format json", lambda text: {
            key: sum(row[head] for row in rows_of_stats(text))
            for key, head in (("count", "Count"), ("total_ns", "Total Time (ns)"))}),
    ],
    "envelope of each range": [
        ("phases --gpu", "phases --json --gpu --top 0 --fold 1000", lambda d: {
            key: value for key, value in phases_by_name(d, "gpu_envelope_ns", "gpu_operations").items() if value}),
        ("stats", "stats -r nvtx_gpu_proj_sum --format json", lambda text: sums_by_name(
            rows_of_stats(text), "Range", {"gpu_envelope_ns": "Total Proj Time (ns)",
                                           "gpu_operations": "Total GPU Ops"})),
        ("stats, trace", "stats -r nvtx_gpu_proj_trace --format json", lambda text: sums_by_name(
            rows_of_stats(text), "Name", {"gpu_envelope_ns": "Projected Duration (ns)",
                                          "gpu_operations": "NumGPUOps"})),
    ],
    "time of each range": [
        ("phases", "phases --json --top 0 --fold 1000", lambda d: phases_by_name(d, "time_ns", "calls")),
        ("stats", "stats -r nvtx_pushpop_trace --format json", lambda text: sums_by_name(
            rows_of_stats(text), "Name", {"time_ns": "Duration (ns)", "calls": None})),
    ],
    "recording": [
        *((command.split()[0], command, head) for command in EACH),
        ("info", "info --json", head),
        ("diff", DIFF, lambda d: head(d["sides"][0])),
    ],
    "whether stacks were recorded": [
        *((command.split()[0], command, lambda d: {None: d["has_stacks"]}) for command in EACH if "timeline" not in command),
        ("info", "info --json", lambda d: {None: "stacks" in d["has"]}),
        ("diff", DIFF, lambda d: {None: d["sides"][0]["has_stacks"]}),
    ],
    "whether allocator details were recorded": [
        ("info", "info --json", lambda d: {None: "allocator_details" in d["has"]}),
        ("frag", "frag --json --no-stacks --at end", lambda d: {None: d["has_allocator_details"]}),
    ],
    "whether uses were recorded": [
        ("info", "info --json", lambda d: {None: "uses" in d["has"]}),
        ("idle", "idle --json --no-stacks", lambda d: {None: d["has_uses"]}),
    ],
    "native frames of stacks, and those with a name": [
        ("info", "info --json", lambda d: {"frames": d["stacks"]["native_frames_looked_up"],
            "named": d["stacks"]["native_frames_named"]}
            if d.get("stacks") and d["stacks"]["names_bytes"] else {}),
        ("symbolize", "symbolize --json COPY",
         lambda d: {"frames": d["frames"], "named": d["named"] - d["added"]} if d["status"] == "no error" else {}),
        ("verify", "verify", named_frames),
    ],
    "damage": [
        ("info", "info --json", lambda d: {None: not d["damaged"]}),
        ("verify", "verify --json", lambda d: {None: d["ok"]} if d["ok"] or "damage" in " ".join(d["findings"]) else {}),
    ],
    "end of the recording": [
        ("info", "info --json", at("duration_ns")),
        ("timeline", TIMELINE, at("to_ns")),
        ("top", "top --json --no-stacks", at("to_ns")),
        ("leaks", LEAKS, at("to_ns")),
        ("phases", "phases --json", at("to_ns")),
    ],
    "devices": [
        ("info", "info --json", lambda d: {(v["device"], "name"): v["name"] for v in d["devices"]}),
        ("timeline", TIMELINE, lambda t: {(v["device"], "name"): v["name"] for v in t["devices"]}),
        ("diff", DIFF, lambda d: {(0, "name"): d["sides"][0]["gpu"]}),
        ("check", CHECK, lambda d: {(0, "name"): d["gpu"]} if d["gpu"] != "unknown" else {}),
    ],
    "bytes of the device": [
        ("info", "info --json", lambda d: {v["device"]: v["total_bytes"] for v in d["devices"]}),
        ("frag", "frag --json --no-stacks --at end", lambda d: {v["device"]: v["total_bytes"] for v in d["devices"]}),
        ("oom", "oom --json --no-stacks", lambda d: {o["device"]: o["state"]["total_bytes"] for o in d["ooms"] if o.get("state")}),
    ],
    "number line at the peak of driver memory": [
        ("info", "info --json", lambda d: number_line((d["number_line"] or {}).get("device"), d["number_line"])),
        ("peak", PEAK, lambda d: {k: v for c in d["curves"] if c["of"] == "driver"
                                  for k, v in number_line(c["device"], c["number_line"]).items()}),
        ("timeline", TIMELINE, lambda t: {k: v for d in t["devices"]
                                          for k, v in number_line(d["device"], d["number_line"]).items()}),
        ("frag", "frag --json --no-stacks --at peak:driver --device 0",
         lambda d: d["devices"][0]["owners"] if d["devices"][0]["driver_used_bytes"] is not None else {}),
    ],
    "origin": [
        ("info", "info --json", lambda d: {**{k: d["origin"][k] for k in ("driver", "pytorch")}, "command": d["command"],
                                           "settings": d["allocator_settings"]}),
        ("check", CHECK, lambda d: {k: d[k] for k in ("driver", "pytorch")}),
        ("diff", DIFF, lambda d: {**{k: d["sides"][0][k] for k in ("driver", "pytorch", "command")},
                                  "settings": d["sides"][0]["alloc_conf"]}),
        ("oom", "oom --json --no-stacks", lambda d: {"settings": d["alloc_conf"]}),
    ],
    "ranges that were not recorded": [
        ("info", "info --json", lambda d: {k: d["ranges"][k] for k in ("nvtx", "torch", "without_name")} if "ranges" in d else {}),
        ("phases", "phases --json", lambda d: {k: d[k] for k in ("nvtx", "torch", "without_name")}),
    ],
    "lost events": [
        ("info", "info --json", lambda d: d["lost"]),
        *((command.split()[0], command, lambda d: d["lost"]) for command in EACH),
        ("diff", DIFF, lambda d: d["sides"][0]["lost"]),
    ],
    "steps": [
        ("info", "info --json", lambda d: {key: d["steps"][key] for key in ("count", "source", "why", "warmup")}),
        ("leaks", LEAKS, lambda d: d["steps"]),
        ("check", CHECK, lambda d: {key: d["steps"][key] for key in ("count", "source", "why", "warmup")}
            if d["steps"] else {}),
    ],
    "verdict on leaks": [
        ("info", "info --json", lambda d: d["leaks"]),
        ("leaks", LEAKS, lambda d: {key: d[key] for key in ("verdict", "answer")}),
        ("diff", DIFF, lambda d: d["sides"][0]["leaks"]),
    ],
    "verdict on leaks, where both judge": [
        ("leaks", LEAKS, lambda d: {None: d["verdict"]} if d["verdict"] in ("leak", "none") else {}),
        ("check --max-growth 0", CHECK, verdict_of_check),
    ],
    "certain leak": [
        ("leaks", LEAKS, lambda d: {} if d["verdict"] == "unknown" else {None: d["verdict"] == "leak"}),
        ("check --max-growth 0", CHECK, lambda d: {None: verdict_of_check(d).get(None) == "leak"}),
    ],
    "suspects": [
        ("leaks", LEAKS, suspects("suspects", "objects")),
        ("check --max-growth 0", CHECK, suspects("suspects")),
    ],
    "bytes a step": [
        ("leaks", LEAKS, lambda d: {full["device"]: full["bytes_per_step"] for full in d["full"]}),
        ("leaks, suspects", LEAKS, rates_of_leaks),
        ("check --max-growth 0", CHECK, lambda d: {c["device"]: c["value"] for c in d["checks"]
                                                   if c["check"] == "max_growth" and c["value"]}),
    ],
    "unused bytes at the reserved peak": [
        ("frag --at peak:reserved", "frag --json --no-stacks --at peak:reserved", unused_of_frag),
        ("frag, sum of the causes", "frag --json --no-stacks --at peak:reserved", unused_of_causes),
        ("diff", DIFF, lambda d: {v["device"]: v["unused_bytes"][0] for v in d["devices"] if "unused_bytes" in v}),
        ("diff, sum of the causes", DIFF, lambda d: {v["device"]: sum(v[key][0] for key in CAUSES if key in v)
                                                     for v in d["devices"] if "unused_bytes" in v}),
        ("diff --at peak:reserved", "diff --json --no-stacks --at peak:reserved FILE FILE", lambda d: {
            v["device"]: v["unused_bytes"][0] for v in d["devices"] if len(d["devices"]) == 1 and "unused_bytes" in v}),
        ("check --max-frag", CHECK, lambda d: {c["device"]: c["unused_bytes"] for c in d["culprits"] if c["causes"]}),
        ("check, sum of the causes", CHECK, unused_of_culprits),
        ("timeline", "timeline --json --points 16 --to peak:reserved", unused_of_timeline),
    ],
    "most unused bytes": [
        ("frag", "frag --json --no-stacks", most_unused),
        ("frag --at peak:unused", "frag --json --no-stacks --at peak:unused", unused_of_frag),
        ("frag --at end", "frag --json --no-stacks --at end", most_unused),
        ("diff --at peak:unused", "diff --json --no-stacks --at peak:unused FILE FILE", lambda d: {
            v["device"]: v["unused_bytes"][0] for v in d["devices"] if len(d["devices"]) == 1 and "unused_bytes" in v}),
    ],
    "OOM with most unused bytes": [
        ("frag", "frag --json --no-stacks", lambda d: {v["device"]: v["most_unused_oom"] for v in d["devices"]}),
        ("oom", "oom --json --no-stacks", most_unused_of_ooms),
    ],
    "unused bytes by cause at the reserved peak": [
        ("frag --at peak:reserved", "frag --json --no-stacks --at peak:reserved", lambda d: {
            (v["device"], key): v["causes"].get(key, v.get(key)) for v in d["devices"] if len(d["devices"]) == 1
            and v["reserved_bytes"] for key in ("largest_request_bytes", *CAUSES)}),
        ("diff", DIFF, lambda d: {(v["device"], key): v[key][0] for v in d["devices"]
                                  for key in ("largest_request_bytes", *CAUSES) if key in v}),
        ("check --max-frag", CHECK, lambda d: {(c["device"], key): c["causes"][key] for c in d["culprits"]
                                               if c.get("causes") for key in CAUSES}),
    ],
    "excess of the reserved over the allocated peak": [
        ("timeline", TIMELINE, excess_of_timeline),
        ("diff", DIFF, lambda d: {v["device"]: v["excess_bytes"][0] for v in d["devices"] if "excess_bytes" in v}),
    ],
    "excess, of the reserved peak": [
        ("timeline", TIMELINE, lambda t: {v["device"]: round(excess_of_timeline(t)[v["device"]] / v["reserved_peak_bytes"], 6)
                                          for v in t["devices"] if v["reserved_peak_bytes"]}),
        ("check --max-frag", CHECK, lambda d: {c["device"]: c["value"] for c in d["checks"]
                                               if c["check"] == "max_frag" and c["value"] is not None}),
    ],
    **{f"largest gap and fragmentation at `{name}`": [
        ("timeline --fragmentation", f"{TIMELINE} --points 16 --to {name}", gaps_of_timeline),
        ("frag", f"frag --json --no-stacks --at {name}", gaps_of_frag),
        ("frag, of the pools", f"frag --json --no-stacks --at {name}", gaps_of_pools),
    ] for name in ("peak", "peak:reserved", "peak:unused", "oom", "step:2", "end")},
    "memory held at the peak": [
        ("idle", "idle --json --no-stacks", lambda d: {(v["device"], v["of"], key): v[key] for v in d["devices"]
                                                       for key in ("bytes", "count", "at_ns")}),
        ("peak", PEAK, lambda d: {(c["device"], c["of"], key): value for c in d["curves"] for key, value in (
            ("bytes", c["peak_bytes"]), ("count", sum(g["count"] for g in c["groups"])), ("at_ns", c["peak_at_ns"]))}),
    ],
    "moment `peak`": [
        ("peak", PEAK, at_peak("curves")),
        ("peak --at peak", PEAK + " --at peak", at_peak("curves")),
        *moments("peak"),
    ],
    **{f"moment `peak:{of}`": [("peak", PEAK, at_peak("curves", of)), *moments(f"peak:{of}"), *(
        [("dump --to", f"dump --json --no-stacks --kind {kinds} --to peak:{of}", last_event)] if kinds else [])]
       for of, kinds in (("driver", "alloc"), ("reserved", None), ("allocated", "block_alloc"), ("pinned", "alloc"))},
    "moment `oom`": [("peak", PEAK + " --at oom", lambda d: {None: d["curves"][0]["at_ns"]} if d["curves"] else {}),
                     ("dump", "dump --json --kind oom,alloc_failed --to oom", last_event),
                     *moments("oom")],
    "moment `end`": [("peak", PEAK + " --at end", lambda d: {None: d["curves"][0]["at_ns"]} if d["curves"] else {}),
                     *moments("end")],
    "moment `peak:unused`": [
        ("peak", PEAK + " --at peak:unused", lambda d: {None: d["curves"][0]["at_ns"]} if d["curves"] else {}),
        ("frag", "frag --json --no-stacks", lambda d: {None: max(
            (v["most_unused"] for v in d["devices"] if v["most_unused"]), key=lambda most: most["bytes"])["at_ns"]}
            if any(v["most_unused"] for v in d["devices"]) else {}),
        *moments("peak:unused")],
    "moment `step:2`": [
        ("peak", PEAK + " --at step:2", lambda d: {None: d["curves"][0]["at_ns"]} if d["curves"] else {}),
        ("dump --from", "dump --json --no-stacks --kind launch,graph_launch,block_alloc,alloc,range_push,mark --from step:2 --limit 1",
         lambda events: {None: events[0]["at_ns"] - 1}),
        ("info", "info --json --steps", lambda d: {None: d["steps"]["begin_ns"][1] - 1} if len(d["steps"]["begin_ns"]) > 1 else {}),
        *moments("step:2")],
}
OF_PROGRAM = {
    "defaults of options": [
        ("doctor", "doctor --json", lambda d: {
            o["variable"]: o["value"] or "unset" for o in d["options"] if o["origin"] == "default"}),
        ("help --environment", "help --environment", defaults_of_help),
        ("run --help", "run --help", defaults_of_run),
    ],
}
# reports on many files: each result must equal that of the file alone
MANY = ["info --json", TIMELINE, PEAK, LEAKS, CHECK, "top --json --no-stacks", "oom --json --no-stacks",
        "frag --json --no-stacks", "phases --json", "idle --json --no-stacks", "waits --json",
        "startup --json", "graphs --json", "counters --json", "verify --json"]
