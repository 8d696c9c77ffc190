"""patch_header.py OFFSET TEXT < RECORDING > CHANGED: writes TEXT, with \\xNN, over the file header
at OFFSET, and corrects its checksum."""
import sys


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


recording = bytearray(sys.stdin.buffer.read())
at, text = int(sys.argv[1]), sys.argv[2].encode().decode("unicode_escape").encode("latin-1")
recording[at : at + len(text)] = text
recording[4092:4096] = crc32c(recording[:4092]).to_bytes(4, "little")
sys.stdout.buffer.write(recording)
