"""Prints the first events of a snapshot pickle, with their stacks. print_trace.py PICKLE COUNT"""
import pickle
import sys

snapshot = pickle.load(open(sys.argv[1], "rb"))
for event in snapshot["device_traces"][0][:int(sys.argv[2])]:
    frames = event.pop("frames", [])
    print(event)
    for frame in frames:
        print("  {name} ({filename}:{line})".format(**frame))
print(snapshot["allocator_settings"])
