"""end_writing.py SIGNAL COMMAND...: starts COMMAND, which writes to a new file in this directory.
Sends SIGNAL as soon as a new name appears, and prints how the command ended."""
import os
import signal
import subprocess
import sys

# a shell ignores it in the background
signal.signal(signal.SIGINT, signal.SIG_DFL)
before = set(os.listdir())
command = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL)
while set(os.listdir()) == before and command.poll() is None:
    pass
command.send_signal(getattr(signal, sys.argv[1]))
status = command.wait()
print(signal.Signals(-status).name if status < 0 else status, sorted(os.listdir()))
