"""Runs a command on a terminal of its own: drive_terminal.py COLUMNS ROWS COMMAND [ARGUMENT...].

Prints the command's output there, with escape sequences as \\e, then "? STATUS". The terminal's
input is KEYS. This end of the terminal stays open until the command has ended, because the system
may drop unread output at the last close. Output may arrive after the command's end, so END is
written behind it."""
import fcntl
import os
import select
import struct
import sys
import termios

columns, rows = map(int, sys.argv[1:3])
master, slave = os.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
settings = termios.tcgetattr(slave)
settings[1] &= ~termios.OPOST
termios.tcsetattr(slave, termios.TCSANOW, settings)
pid = os.fork()
if pid == 0:
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for fd in range(3):
        os.dup2(slave, fd)
    os.environ.update(TERM="xterm")
    os.execvp(sys.argv[3], sys.argv[3:])
os.set_blocking(master, False)
os.write(master, os.environ.get("KEYS", "").encode())
child = os.pidfd_open(pid)
text = b""
END = b"\0end of the command\0"
status = None
while not text.endswith(END):
    ready = select.select([master] + [child] * (status is None), [], [])[0]
    if master in ready:
        text += os.read(master, 65536)
    elif child in ready:
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.write(slave, END)
text = text[:-len(END)]
sys.stdout.write(text.decode("utf-8", "replace").replace("\033", "\\e"))
print(f"? {status}")
