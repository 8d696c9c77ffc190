export LD_LIBRARY_PATH=$BUILD/fake
python3 $CLI/drive_run.py terminal
