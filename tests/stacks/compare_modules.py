"""Compares the modules of a recording's blocks with those whose forward ran, as module_story.py wrote them.

compare_modules.py DUMPED EXPECTED SHARE

DUMPED: lines of `gpuprof dump --json --kind block_alloc`. SHARE: percent of the blocks that must be right.
"""
import collections
import json
import sys

with open(sys.argv[2]) as expected_file:
    expected = json.load(expected_file)
blocks, wrong = 0, collections.Counter()
with open(sys.argv[1]) as dumped:
    for event in map(json.loads, dumped):
        size = str(event["bytes"])
        if size not in expected:
            continue
        blocks += 1
        if event.get("torch_module") != expected[size]:
            wrong[expected[size], event.get("torch_module")] += 1
# sizes beyond a segment of the allocator are rounded up
if blocks < 0.9 * len(expected):
    sys.exit("%d of %d blocks" % (blocks, len(expected)))
print("%d blocks, %d wrong" % (blocks, sum(wrong.values())))
if sum(wrong.values()) * 100 > (100 - float(sys.argv[3])) * blocks:
    sys.exit("for example %s" % wrong.most_common(3))
