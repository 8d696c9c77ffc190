# copies with arrays, batches, prefetches and copies between devices
export LD_LIBRARY_PATH=$BUILD/fake
cat >job.py <<'END'
import ctypes

cuda = ctypes.CDLL("libcuda.so.1")
size, address = ctypes.c_size_t, ctypes.c_uint64


def made(call, *arguments):
    handle = address()
    assert call(ctypes.byref(handle), *arguments) == 0
    return handle


def words(*values):
    return (ctypes.c_uint64 * len(values))(*values)


assert cuda.cuInit(0) == 0
made(cuda.cuCtxCreate_v2, 0, 0)
memory = made(cuda.cuMemAlloc_v2, size(1 << 20))
managed = made(cuda.cuMemAllocManaged, size(1 << 20), 1)
pinned = made(cuda.cuMemAllocHost_v2, size(4096))
stream = made(cuda.cuStreamCreate, 0)
array = made(cuda.cuArrayCreate_v2, words(64, 64, 1 << 32 | 0x20))
results = [
    cuda.cuMemcpyDtoA_v2(array, size(0), memory, size(64)),
    cuda.cuMemcpyAtoD_v2(memory, array, size(0), size(65)),
    cuda.cuMemcpyAtoA_v2(array, size(0), array, size(0), size(66)),
    cuda.cuMemcpyHtoA_v2(array, size(0), pinned, size(67)),
    cuda.cuMemcpyAtoH_v2(pinned, array, size(0), size(68)),
    cuda.cuMemcpyHtoAAsync_v2(array, size(0), pinned, size(69), stream),
    cuda.cuMemcpyAtoHAsync_v2(pinned, array, size(0), size(70), stream),
    cuda.cuMemPrefetchAsync(managed, size(4096), 0, stream),
    cuda.cuMemPrefetchAsync_v2(managed, size(8192), address(1), 0, stream),
]
to, sizes = words(memory.value, memory.value + 4096), words(100, 200)
batch = (to, words(pinned.value, memory.value), sizes, size(2), None, None, size(0))
results.append(cuda.cuMemcpyBatchAsync_v2(*batch, stream))
results.append(cuda.cuMemcpyBatchAsync(*batch, None, stream))
peer = words(*[0] * 4, 2, 0, memory.value, 0, 0, 64, 4, *[0] * 4, 2, 0, memory.value, 0, 0, 64, 4,
             16, 4, 2)
results.append(cuda.cuMemcpy3DPeer(peer))
volume = words(1, memory.value, 0, 0, 0, 1, memory.value, 0, 0, 0, 16, 4, 3, 1)
results.append(cuda.cuMemcpy3DBatchAsync_v2(size(1), volume, ctypes.c_uint64(0), stream))
print("failed:", sum(result != 0 for result in results))
END
gpuprof run -q -o r.gpr -- python3 -B job.py
gpuprof dump --kind copy r.gpr | grep " gpu0 " | mask took | sed -E '
	s/^.* gpu0 +//; s/0x[0-9a-f]{2,}/ADDRESS/g; s/ \(.*KiB\)//'
gpuprof waits r.gpr | sed -n '/^copies/,/^prefetch/p'
