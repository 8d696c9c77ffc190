"""take_name.py NAME COMMAND...: starts COMMAND, makes the file NAME as soon as another name appears
in this directory, and prints how the command ended."""
import os
import subprocess
import sys

before = set(os.listdir())
command = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL)
while set(os.listdir()) == before and command.poll() is None:
    pass
with open(sys.argv[1], "w", encoding="ascii") as file:
    file.write("mine\n")
print(command.wait(), sorted(os.listdir()), flush=True)
