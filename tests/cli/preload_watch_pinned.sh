LD_LIBRARY_PATH=$BUILD/fake GPUPROF_RING_DIR=$PWD python3 $CLI/drive_watch.py pinned
# the figures of `timeline`, which reads from the beginning
gpuprof watch "$DATA/leak_pinned.gpr" | grep ^host
gpuprof watch --json "$DATA/leak_pinned.gpr" | grep -o '"host":.*"devices"'
gpuprof timeline --json "$DATA/leak_pinned.gpr" | grep -E '(pinned|registered)_[a-z_]*peak'
