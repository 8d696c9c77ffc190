"""Runs a command on a terminal of its own: drive_terminal.py COLUMNS ROWS COMMAND [ARGUMENT...].

Prints what the command wrote there, with escape sequences as \\e, then "? STATUS". The terminal's input is KEYS.
"""
import fcntl
import os
import pty
import struct
import sys
import termios

columns, rows = map(int, sys.argv[1:3])
pid, master = pty.fork()
if pid == 0:
    size = struct.pack("HHHH", rows, columns, 0, 0)
    fcntl.ioctl(1, termios.TIOCSWINSZ, size)
    settings = termios.tcgetattr(1)
    settings[1] &= ~termios.OPOST
    termios.tcsetattr(1, termios.TCSANOW, settings)
    os.environ.update(TERM="xterm")
    os.execvp(sys.argv[3], sys.argv[3:])
os.write(master, os.environ.get("KEYS", "").encode())
text = b""
while True:
    try:
        part = os.read(master, 65536)
    except OSError:  # the last process has closed it
        break
    if not part:
        break
    text += part
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.stdout.write(text.decode("utf-8", "replace").replace("\033", "\\e"))
print(f"? {status}")
