"""Threads that open ranges and run operators without a pause while the recorder's callback is being added.

range_storm.py: eight threads begin before the first launch. Prints the number of ranges that they opened, and the
cost of an operator on the host and of an empty range. A test compares these between a recorded and a bare run.
"""
import statistics
import threading
import time

import torch

THREADS, EACH = 8, 2000
is_over = threading.Event()
opened = [0] * THREADS


def work(k):
    x = torch.ones(8)
    while not is_over.is_set():
        with torch.profiler.record_function(f"thread {k}"):
            with torch.profiler.record_function("inner"):
                x = x * 1.0
        opened[k] += 2


def nanoseconds(call, number=2000):
    times = []
    for _ in range(30):
        start = time.perf_counter_ns()
        for _ in range(number):
            call()
        times.append((time.perf_counter_ns() - start) / number)
    return statistics.quantiles(times, n=10)[0]


def empty_range():
    with torch.profiler.record_function("empty"):
        pass


def wait_for_all():
    """Waits until each thread has opened this many more."""
    goal = [n + EACH for n in opened]
    while any(n < g for n, g in zip(opened, goal)):
        time.sleep(0)


threads = [threading.Thread(target=work, args=(k,)) for k in range(THREADS)]
for t in threads:
    t.start()
wait_for_all()
total = 0.0
for step in range(50):  # the first launch adds the callback
    total += (torch.ones(1024, device="cuda") * step).sum().item()
wait_for_all()
is_over.set()
for t in threads:
    t.join()
host = torch.ones(8)
print(f"range_storm: {sum(opened)} ranges of {THREADS} threads, sum {total:.0f}; an operator on the host "
      f"{nanoseconds(lambda: torch.empty(8)):.0f} ns, with work {nanoseconds(lambda: host * 1.0):.0f} ns, "
      f"an empty range {nanoseconds(empty_range):.0f} ns")
