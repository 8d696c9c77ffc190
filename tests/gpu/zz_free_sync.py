import torch, ctypes, time
rt = ctypes.CDLL("libcudart.so.13") if True else None
x = torch.zeros(1, device="cuda")
drv = ctypes.CDLL("libcuda.so.1")
for what in ("free", "freehost", "unregister", "none"):
    p = ctypes.c_uint64(); drv.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(1 << 24))
    h = ctypes.c_void_p(); drv.cuMemAllocHost_v2(ctypes.byref(h), ctypes.c_size_t(1 << 20))
    buf = (ctypes.c_char * (1 << 20))(); drv.cuMemHostRegister_v2(ctypes.byref(buf), ctypes.c_size_t(1 << 20), 0)
    s = torch.cuda.Stream(); torch.cuda.synchronize()
    with torch.cuda.stream(s): torch.cuda._sleep(200_000_000)
    t = time.perf_counter()
    r = {"free": lambda: drv.cuMemFree_v2(p), "freehost": lambda: drv.cuMemFreeHost(h), "unregister": lambda: drv.cuMemHostUnregister(ctypes.byref(buf)), "none": lambda: 0}[what]()
    d = (time.perf_counter() - t) * 1e3
    print("FREE", what, r, "%.2f ms" % d, "stream done:", s.query()); torch.cuda.synchronize()
