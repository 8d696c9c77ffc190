"""Stacks of the allocations of a recording against what Python said of them: compare.py DUMPED EXPECTED DEPTH

DUMPED: lines of `gpuprof dump --json --kind alloc`; EXPECTED has the last 20,000 at most.
"""
import json
import sys

dumped = [json.loads(line) for line in open(sys.argv[1])]
said = json.load(open(sys.argv[2]))
if len(said) >= 20000:
    dumped = dumped[-len(said) :]
depth = int(sys.argv[3])
if not dumped or (len(said) < 20000 and len(said) != len(dumped)):
    sys.exit("%d allocations recorded, %d said" % (len(dumped), len(said)))
for event, frames in zip(dumped, said[-len(dumped) :]):
    stack = event.get("stack")
    if stack is None:
        sys.exit("no stack at %s" % event)
    got = [[f["function"], f["file"], f["line"]] for f in stack if "address" not in f]
    if got != frames[:depth]:
        sys.exit("at %d ns\n got  %s\n said %s" % (event["at_ns"], got, frames[:depth]))
print("%d stacks, %d of them different" % (len(said), len({json.dumps(s) for s in said})))
