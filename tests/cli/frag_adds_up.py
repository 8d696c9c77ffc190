# Checks `gpuprof frag --json` on any recording: sums, tiles, ranks.
#	frag_adds_up.py FILE...
import json
import subprocess
import sys

for path in sys.argv[1:]:
    text = subprocess.run(
        ["gpuprof", "frag", "--json", "--at", "end", path], capture_output=True, check=True
    )
    report = json.loads(text.stdout)
    blocks = 0
    for device in report["devices"]:
        whole = device["reserved_bytes"] - device["allocated_bytes"]
        assert sum(device["causes"].values()) == whole, (path, device["causes"], whole)
        reserved = allocated = 0
        for segment in device["segments"]:
            at = int(segment["address"], 16)
            for block in segment["blocks"]:
                assert int(block["address"], 16) == at, path
                at += block["bytes"]
                blocks += 1
                allocated += block["bytes"] if block["state"] == "allocated" else 0
            assert at == int(segment["address"], 16) + segment["bytes"], path
            reserved += segment["bytes"]
        assert reserved == device["reserved_bytes"], path
        assert allocated == device["allocated_bytes"], path
        gaps = [b["bytes"] for s in device["segments"] for b in s["blocks"] if b["state"] == "free"]
        assert device["largest_any_bytes"] <= max(gaps, default=0), path
        hostage = [pin["hostage_bytes"] for pin in device["pins"]]
        assert hostage == sorted(hostage, reverse=True), path
        used = device["driver_used_bytes"]
        assert used is None or sum(device["owners"].values()) == used, path
    named = {s["id"] for s in report["stacks"]}
    stacks = {b["stack"] for d in report["devices"] for s in d["segments"] for b in s["blocks"]}
    assert stacks - {None} <= named, path
    print(path, len(report["devices"]), blocks)
