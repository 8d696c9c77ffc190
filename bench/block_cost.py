# Allocates and then releases steps of 512 blocks, each below another stack:
#	block_cost.py LIBRARY NAME KIB STEPS
# Prints what an allocation and a release take (see block_cost.c). KIB, a power of two, is the amount of other
# memory read and of other code run before each. Runs on the fake driver and the fake caching allocator, with and
# without the preload. The difference is the cost of recording.
import ctypes
import gc
import sys

library = ctypes.CDLL(sys.argv[1])
name, kib, steps = sys.argv[2].encode(), int(sys.argv[3]), int(sys.argv[4])
EVENTS, FRAMES, WARM_UP = 512, 9, 12

# one of two lines at each frame, so that each event also has its own Python frames
chain = []
for k in range(FRAMES):
    call = f"f{k + 1}(i)" if k + 1 < FRAMES else "allocate(i)"
    chain.append(f"def f{k}(i):\n if i & {1 << (FRAMES - 1 - k)}:\n  {call}\n else:\n  {call}\n")
scope = {"allocate": library.block_cost_allocate}
for text in chain:
    exec(text, scope)
allocate, elsewhere, release = scope["f0"], library.block_cost_elsewhere, library.block_cost_release

library.block_cost_open(ctypes.c_size_t(kib << 10))
gc.disable()
for step in range(WARM_UP + steps):
    for i in range(EVENTS):
        elsewhere()
        allocate(i)
    for i in range(EVENTS):
        elsewhere()
        release(i)
    library.block_cost_step(step >= WARM_UP)
library.block_cost_print(name)
