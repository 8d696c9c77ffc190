# A thread without the GIL walks while it holds a lock that the GIL's holder waits for.  lock_order.py LIBRARY [MS]
import sys, threading

from witness import find, free, held, why_off

find()
walks = []
ms = int(sys.argv[2]) if len(sys.argv) > 2 else 200
thread = threading.Thread(target=lambda: walks.append(free.witness_walk_holding(ms)))
thread.start()
while not free.witness_is_held():
    pass
held.witness_wait_for_lock()  # keeps the GIL until the other has walked enough
thread.join()
print("lock order: %d walks while the GIL's holder waited" % walks[0])
sys.exit(1 if walks[0] < 1000 or why_off() else 0)
