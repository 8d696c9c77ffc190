export LD_LIBRARY_PATH=$BUILD/fake
unshare -rm sh -c "mount -t tmpfs none /dev/shm && python3 $CLI/drive_watch.py alone"
