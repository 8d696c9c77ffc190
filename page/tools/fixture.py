#!/usr/bin/env python3
"""Writes a report page from the commands' JSON and the slow replay, for tests of the page.

usage: fixture.py [--gpuprof PROGRAM] [--beside] -o REPORT.html RECORDING...
The contract is that of `gpuprof report`: the page cannot see a difference. --beside writes the data
into files beside the page, as a large report does. --lives FILE writes what the slow replay has
live at moments of its choice.
"""
import argparse
import base64
import gzip
import json
import os

import slow_replay

DIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "dist")
COMMANDS = {"info": ["--steps"], "timeline": ["--by", "role"], "peak": [], "oom": [], "leaks": [],
            "frag": [], "phases": [], "graphs": [], "idle": [], "waits": [], "kernels": [],
            "startup": [], "collectives": [], "counters": []}


def leb128(values):
    out = bytearray()
    for value in values:
        while value > 127:
            out.append(value & 127 | 128)
            value >>= 7
        out.append(value)
    return bytes(out)


def zigzag(value):
    return value * 2 if value >= 0 else -value * 2 - 1


def differences(values):
    before = 0
    for value in values:
        yield value - before
        before = value


class Texts:
    """Numbers for texts, or for other values that can be keys."""

    def __init__(self, first):
        self.list, self.ids = [first], {first: 0}

    def id(self, value):
        if value not in self.ids:
            self.ids[value] = len(self.list)
            self.list.append(value)
        return self.ids[value]


def encode_lives(lives, group_of):
    columns = [
        leb128(differences(life.birth for life in lives)),
        leb128(0 if life.death is None else life.death - life.birth + 1 for life in lives),
        leb128(life.bytes for life in lives),
        leb128(group_of[life] for life in lives),
        leb128(map(zigzag, differences(life.address for life in lives))),
        leb128(map(zigzag, differences(life.order for life in lives))),
    ]
    return leb128([len(lives), *map(len, columns), 0]) + b"".join(columns)


def encode_curve(points):
    columns = [leb128(differences(point[0] for point in points)),
               leb128(map(zigzag, differences(point[2] for point in points))),
               leb128(point[2] - point[1] for point in points), b""]
    return leb128([len(points), *map(len, columns)]) + b"".join(columns)


def group_keys(life, texts, stacks, frames):
    """The group of a life: device, of, and ids of its texts."""
    chain = [slow_replay.frame_text(frame) for frame in life.event.get("stack") or []]
    lines = [text for text, is_python in chain if is_python]
    operators = ["aten::" + text[10:-6] for text, _ in chain
                 if text.startswith("at::_ops::") and text.endswith("::call")]
    ranges = [name for name in life.event.get("ranges") or [] if name]
    is_part = life.of == slow_replay.SEGMENT and life.event.get("space") == "physical"
    return (life.device, life.of, int(is_part), stacks.id(tuple(map(frames.id, chain))),
            texts.id(slow_replay.rough_role(life)), texts.id(ranges[0] if ranges else ""), 0,
            texts.id(operators[0] if operators else ""),
            texts.id("PyTorch" if life.of < 2 else "driver"),
            texts.id(lines[0].split(" ")[0] if lines else ""),
            texts.id(ranges[-1] if ranges else ""),
            texts.id(f"arena {life.event['code']}" if life.of == slow_replay.BLOCK
                     and life.event["code"] else ""))


GROUP_KEYS = ("device", "of", "is_part", "stack", "role", "phase", "module", "operator", "library",
              "line", "range", "pool")


def lives_of(replay, info, add_data, block_lives):
    texts, stacks, frames, groups = Texts(""), Texts(()), Texts(("", 0)), Texts(None)
    group_of = {life: groups.id(group_keys(life, texts, stacks, frames)) - 1
                for life in replay.lives}
    begins = info["steps"]["begin_ns"]
    marks = replay.marks + [{"at_ns": at, "kind": "step", "number": number}
                            for number, at in enumerate(begins)]
    rows = groups.list[1:]
    return {
        "from_ns": info["kept_from_ns"], "to_ns": replay.last_ns,
        "devices": sorted({life.device for life in replay.lives if life.device >= 0}),
        "text": texts.list,
        "frames": {"text": [texts.id(text) for text, _ in frames.list],
                   "is_python": [is_python for _, is_python in frames.list]},
        "stacks": [list(stack) for stack in stacks.list],
        "groups": {key: [row[at] for row in rows] for at, key in enumerate(GROUP_KEYS)},
        "count": len(replay.lives), "shorter_than_ns": 0, "left_out": 0,
        "blocks": [add_data(encode_lives(replay.lives[at:at + block_lives], group_of))
                   for at in range(0, len(replay.lives), block_lives)],
        "curves": [{"device": device, "curve": curve, "points": len(points),
                    "data": add_data(encode_curve(points)), "is_exact": True}
                   for (device, curve), points in sorted(replay.curves.items())],
        "marks": sorted(marks, key=lambda mark: mark["at_ns"]),
    }


def recording_of(program, path, add_data, block_lives):
    documents, missing, commands = {}, {}, {}
    for name, options in COMMANDS.items():
        words = [name, *options, "--json", path]
        text, why = slow_replay.run(program, *words)
        commands[name] = " ".join(["gpuprof", *words])
        if text is None:
            missing[name] = why
        else:
            documents[name] = json.loads(text)
    replay = slow_replay.Replay(program, path)
    lives = lives_of(replay, documents["info"], add_data, block_lives)
    return {"file": path, "documents": documents, "missing": missing, "commands": commands,
            "lives": lives}, replay


def packed(data):
    return base64.b64encode(gzip.compress(data, 6, mtime=0)).decode()


def write_page(output, report, data, beside):
    """The HTML of the contract. `data` is a list of byte strings."""
    folder = output[:-len(".html")] + "_data"
    scripts = []
    for number, block in enumerate(data):
        name = f"{os.path.basename(folder)}/{number}.js" if beside else None
        report["data"].append({"file": name, "bytes": len(block)})
        if beside:
            os.makedirs(folder, exist_ok=True)
            with open(os.path.join(folder, f"{number}.js"), "w", encoding="utf-8") as file:
                file.write(f'gpuprofData({number},"{packed(block)}")\n')
        else:
            scripts.append(f'<script type="text/plain" id="gpuprof-data-{number}">'
                           f'{packed(block)}</script>\n')

    def dist(name):
        with open(os.path.join(DIST, name), encoding="utf-8") as file:
            return file.read()
    script_hash, style_hash = dist("csp.txt").split()
    policy = (f"default-src 'none'; script-src '{script_hash}'{' file:' if beside else ''}; "
              f"style-src '{style_hash}'; img-src data: blob:; base-uri 'none'; "
              "form-action 'none'")
    with open(output, "w", encoding="utf-8") as file:
        file.write('<!doctype html><html lang="en"><head><meta charset="utf-8">\n'
                   f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
                   '<meta name="viewport" content="width=device-width,initial-scale=1">'
                   f'<title>gpuprof: fixture</title>\n<style>{dist("page.css")}</style></head>'
                   '<body><noscript>This page needs JavaScript.</noscript><div id="page"></div>\n'
                   '<script type="text/plain" id="gpuprof-report">'
                   f'{packed(json.dumps(report).encode())}</script>\n{"".join(scripts)}'
                   f'<script>{dist("page.js")}</script></body></html>\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpuprof", default="build/gpuprof")
    parser.add_argument("--beside", action="store_true")
    parser.add_argument("--lives")
    parser.add_argument("--block-lives", type=int, default=4096)
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("recording", nargs="+")
    options = parser.parse_args()
    data = []

    def add_data(block):
        data.append(block)
        return len(data) - 1
    pairs = [recording_of(options.gpuprof, path, add_data, options.block_lives)
             for path in options.recording]
    report = {"page": 1, "made_by": "gpuprof fixture", "data": [],
              "ranks": None, "recordings": [recording for recording, _ in pairs]}
    write_page(options.output, report, data, options.beside)
    if options.lives:
        with open(options.lives, "w", encoding="utf-8") as file:
            json.dump([replay.moments(12) for _, replay in pairs], file)


if __name__ == "__main__":
    main()
