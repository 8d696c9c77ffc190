LD_LIBRARY_PATH=$BUILD/fake GPUPROF_RING_DIR=$PWD python3 $CLI/drive_watch.py named
