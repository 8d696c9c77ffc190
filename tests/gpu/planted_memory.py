"""Takes memory of a GPU that PyTorch does not request: a module of 64 MiB, local memory, another process.

As a program: planted_memory.py BYTES takes BYTES in a process of its own, prints "ready" and waits for the end of stdin.
Uses the driver by ctypes only, so it needs no compiler. The PTX runs on each GPU from sm_80 on.
"""
import ctypes
import subprocess
import sys

MODULE_BYTES = 64 << 20
LOCAL_BYTES = 4096  # of each thread
OTHER_BYTES = 256 << 20

HEAD = ".version 7.0\n.target sm_80\n.address_size 64\n"
BIG = HEAD + f".visible .global .align 4 .b8 big[{MODULE_BYTES}];\n" + """
.visible .entry touch_big() {
	.reg .b32 %r<2>;
	mov.u32 %r1, 1;
	st.global.u32 [big], %r1;
	ret;
}
"""
LOCAL = HEAD + """
.visible .entry needs_local(.param .u64 out, .param .u32 at) {
	.local .align 4 .b8 buffer[%d];
	.reg .b64 %%rd<6>;
	.reg .b32 %%r<3>;
	ld.param.u64 %%rd1, [out];
	cvta.to.global.u64 %%rd2, %%rd1;
	ld.param.u32 %%r1, [at];
	cvt.u64.u32 %%rd3, %%r1;
	mov.u64 %%rd4, buffer;
	add.u64 %%rd5, %%rd4, %%rd3;
	st.local.u32 [%%rd5], %%r1;
	ld.local.u32 %%r2, [buffer+128];
	st.global.u32 [%%rd2], %%r2;
	ret;
}
""" % LOCAL_BYTES

cuda = ctypes.CDLL("libcuda.so.1")


def call(name, *arguments):
    result = getattr(cuda, name)(*arguments)
    if result:
        sys.exit(f"{name}: error {result}")


def load(text, entry):
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    call("cuModuleLoadData", ctypes.byref(module), text.encode())
    call("cuModuleGetFunction", ctypes.byref(function), module, entry.encode())
    return function


def launch(function, *arguments):
    pointers = (ctypes.c_void_p * len(arguments))(*(ctypes.cast(ctypes.pointer(a), ctypes.c_void_p)
                                                    for a in arguments))
    call("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, None, pointers, None)


def load_module():
    """Returns what keeps it loaded."""
    function = load(BIG, "touch_big")
    launch(function)
    return function


def use_local_memory(address):
    """`address`: of four bytes on the device."""
    launch(load(LOCAL, "needs_local"), ctypes.c_uint64(address), ctypes.c_uint32(64))


def start_other():
    """Starts the other process; close its stdin to end it."""
    other = subprocess.Popen([sys.executable, __file__, str(OTHER_BYTES)], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    if other.stdout.readline() != "ready\n":
        sys.exit("the other process took no memory")
    return other


if __name__ == "__main__":
    context, address = ctypes.c_void_p(), ctypes.c_uint64()
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
    call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(int(sys.argv[1])))
    print("ready", flush=True)
    sys.stdin.read()
