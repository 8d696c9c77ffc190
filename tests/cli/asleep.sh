# PyTorch reserves 7 GiB, and the driver maps 1 GiB of it
$BUILD/frag/made_oom sleeping made.gpr
gpuprof frag --at 1.1us made.gpr
gpuprof frag --at 1.1us --json made.gpr | grep -e reserved_bytes -e unmapped -e owners | head -4
gpuprof peak --of reserved --at 1.1us made.gpr
gpuprof timeline made.gpr | grep reserved
gpuprof timeline --json made.gpr | grep unmapped
gpuprof timeline --fragmentation --json made.gpr | grep -A 20 points
gpuprof export --format torch -o x.pickle made.gpr 2>/dev/null && python3 -c '
import pickle
print(sum(s["total_size"] for s in pickle.load(open("x.pickle", "rb"))["segments"]))
'
