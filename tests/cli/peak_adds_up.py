"""Groups of `gpuprof peak --json` add up to the live bytes, and these are the peak of `timeline
--json`: PEAK TIMELINE"""
import json
import sys

peak, timeline = (json.load(open(path)) for path in sys.argv[1:3])
wanted = {
    (device["device"], of): device[of + "_peak_bytes"]
    for device in timeline["devices"]
    for of in ("allocated", "reserved", "driver")
    if device[of + "_peak_bytes"]
}
host = timeline["host"]
if host:
    wanted[(None, "pinned")] = host["pinned_peak_bytes"]
found = {(device["device"], device["of"]): device["live_bytes"] for device in peak["curves"]}
if found != wanted:
    sys.exit("peaks %s, timeline has %s" % (found, wanted))
for device in peak["curves"]:
    total = sum(group["bytes"] for group in device["groups"])
    if total != device["live_bytes"]:
        sys.exit("%s: %d of %d bytes are explained" % (device["of"], total, device["live_bytes"]))
