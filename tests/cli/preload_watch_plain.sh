LD_LIBRARY_PATH=$BUILD/fake GPUPROF_RING_DIR=$PWD python3 $CLI/drive_watch.py plain
# a job that ended, and freed all memory
LD_LIBRARY_PATH=$BUILD/fake gpuprof run -o gone.gpr -- $BUILD/victims/two_gpus >out 2>&1
gpuprof watch --count 1 gone.gpr | sed -n '/sort:/,/^$/p' | head -n 2
