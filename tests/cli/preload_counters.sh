export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -q --metrics roofline --kernel . -o r.gpr -- python3 -B $CLI/counter_job.py 40
gpuprof counters r.gpr | sed 2d
python3 -B $CLI/drive_terminal.py 80 40 \
	gpuprof counters --no-pager --color never r.gpr | sed '1,/^$/d'
gpuprof counters --json r.gpr | python3 -c 'import json, sys
for row in json.load(sys.stdin)["kernels"]:
    print(row["symbol"], row["count"], row["passes"], row["dram_bytes"], row["operations"])'
# one metric, one pass, and each launch of a kernel; a name as in the binary and a plain one
export FAKE_PROFILER_PASSES=1
gpuprof run -q --metrics dram__bytes.sum --kernel 'copy|^_Z4gemm' --count 2 -o m.gpr -- \
	python3 -B $CLI/counter_job.py 2
gpuprof counters --all m.gpr | sed 2d
gpuprof run --metrics dram__bytes.sum --kernel 'gemm<128>|^add' --count 2 -o d.gpr -- \
	python3 -B $CLI/counter_job.py 2 demangler 2>&1 | tail -n 1
gpuprof counters --top 1 d.gpr | sed 2d
gpuprof counters r.gpr m.gpr
gpuprof counters $DATA/fake-held.gpr $DATA/leak_pinned.gpr
gpuprof run --gpu-time -o g.gpr -- python3 -B $CLI/counter_job.py 2>&1 | tail -n 1
gpuprof verify r.gpr | grep -c "nothing damaged; complete"
