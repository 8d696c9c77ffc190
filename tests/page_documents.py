"""Compares a page of `gpuprof report` with the commands that it names: page_documents.py PAGE [running]

Each document must be byte for byte the output of its command, with the `gpuprof` on the path. With `running` the job
runs on: no command is run, but all documents must be of the same moment. The policy must allow
the script and the style. Lives and curves must agree with `info`, GPU time with `kernels`.
Prints a line for each difference and each unreadable recording, then the number of documents of
each recording, and why others are missing.
"""
import base64
import gzip
import hashlib
import html.parser
import itertools
import json
import os
import re
import subprocess
import sys
import urllib.parse

DECODER = json.JSONDecoder()


class Elements(html.parser.HTMLParser):
    """The texts of a page by element and id, as a browser separates them."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.found, self.policy, self.open = {}, None, None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        if named.get("http-equiv") == "Content-Security-Policy":
            self.policy = named["content"]
        self.open = named.get("id", tag) if tag in ("script", "style", "title") else None
        if self.open in self.found:
            sys.exit(f"two elements '{self.open}'")
        if self.open:
            self.found[self.open] = ""

    def handle_endtag(self, tag):
        self.open = None

    def handle_data(self, data):
        if self.open:
            self.found[self.open] += data


def members(text, at):
    """(key, the text of its value) of each member of the object that begins at `at`."""
    blank = re.compile(r"[\s,:]*")
    at = blank.match(text, at + 1).end()
    while text[at] != "}":
        key, at = DECODER.raw_decode(text, at)
        begin = blank.match(text, at).end()
        _, at = DECODER.raw_decode(text, begin)
        yield key, text[begin:at]
        at = blank.match(text, at).end()


def elements_of_list(text):
    at = 1
    while text[at] != "]":
        _, end = DECODER.raw_decode(text, at)
        yield text[at:end]
        at = re.compile(r"[\s,]*").match(text, end).end()


def unpacked(text):
    return gzip.decompress(base64.b64decode(text, validate=True))


def read(path):
    """(elements, text of the report's JSON, bytes of each block of data)"""
    with open(path, encoding="utf-8", newline="") as file:
        page = Elements(file.read())
    report = unpacked(page.found["gpuprof-report"]).decode()
    data = []
    for k, block in enumerate(json.loads(report)["data"]):
        text = page.found.get(f"gpuprof-data-{k}")
        if block["file"]:
            with open(os.path.join(os.path.dirname(path), urllib.parse.unquote(block["file"])), encoding="ascii") as file:
                text = re.fullmatch(rf'gpuprofData\({k},"([^"]*)"\)\n', file.read())[1]
        data.append(unpacked(text))
        if len(data[k]) != block["bytes"]:
            print(f"block {k} has {len(data[k])} bytes, not {block['bytes']}")
    return page, report, data


def columns(block, heads):
    """The columns of a block of data, whose header has that many numbers, as lists of integers."""
    def numbers(part):
        value, shift = 0, 0
        for byte in part:
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                yield value
                value, shift = 0, 0
    end = 0
    for _ in range(heads):
        while block[end] > 127:
            end += 1
        end += 1
    head, at = list(numbers(block[:end])), end
    for count in head[1:]:
        yield list(numbers(block[at:at + count]))
        at += count
    if at != len(block):
        print(f"a block has {len(block)} bytes, not {at}")


def sums(differences):
    """The numbers of a column of zigzag differences."""
    return list(itertools.accumulate(number >> 1 ^ -(number & 1) for number in differences))


def highest_values(block):
    """The most bytes of each point of a curve."""
    return sums(list(columns(block, 5))[1])


def check_lives(lives, info, data):
    """The highest point of each curve is the peak of `info`; blocks have the number of lives of the report."""
    count = 0
    for number in lives["blocks"]:
        birth, span, size, group, address, order, _ = columns(data[number], 8)
        count += len(birth)
        if len({len(birth), len(span), len(size), len(group), len(address), len(order)}) != 1:
            print(f"block {number} has columns of different lengths")
        if max(group, default=0) >= len(lives["groups"]["of"]) > 0:
            print(f"block {number} has a group that is not in the table")
    if count != lives["count"]:
        print(f"{count} lives in blocks, not {lives['count']}")
    peaks = {(peak["device"], peak["of"]): peak["peak_bytes"] for peak in info["peaks"] if not peak["at_least"]}
    for curve in lives["curves"]:
        highest = highest_values(data[curve["data"]])
        most = max(highest, default=0)
        device = None if curve["device"] < 0 else curve["device"]
        if most != peaks.get((device, curve["curve"]), most):
            print(f"the peak of {curve['curve']} is {most}, not {peaks[device, curve['curve']]}")
        if len(highest) != curve["points"]:
            print(f"{len(highest)} points, not {curve['points']}")


def check_gpu(gpu, kernels, data):
    """The sums of kernels by name are those of `kernels`; groups have the sums of their intervals in blocks."""
    groups, text = gpu["groups"], gpu["text"]
    took, by_name = [0] * len(groups["of"]), {}
    for lane in gpu["lanes"]:
        for number in lane["blocks"]:
            _, spans, group, _ = columns(data[number], 5)
            for span, which in zip(spans, group):
                took[which] += span
    for k, of in enumerate(groups["of"]):
        if took[k] + groups["short_ns"][k] != groups["total_ns"][k]:
            print(f"group {k} has {took[k]} ns in blocks, not {groups['total_ns'][k] - groups['short_ns'][k]}")
        if of == "kernel":
            name = text[groups["name"][k]]
            by_name[name] = by_name.get(name, 0) + groups["total_ns"][k]
    if by_name != {row["name"]: row["total_ns"] for row in kernels["kernels"]}:
        print("the sums of kernels differ from those of `kernels`")


def check_policy(page):
    for element in ("script", "style"):
        text = page.found[element].encode()
        digest = base64.b64encode(hashlib.sha256(text).digest()).decode()
        if f"{element}-src 'sha256-{digest}'" not in page.policy:
            print(f"the policy refuses the {element}")
    if not page.policy.startswith("default-src 'none'; "):
        print(f"policy: {page.policy}")


def main():
    page, report, data = read(sys.argv[1])
    check_policy(page)
    if re.search("</script|<!--", page.found["script"]) or "</" in page.found["style"]:
        print("the script or the style can end its element")
    top = dict(members(report, 0))
    for unreadable in json.loads(top["unreadable"]):
        print(f"{unreadable['file']} is unreadable: {unreadable['reason']}")
    for recording in elements_of_list(top["recordings"]):
        parts = dict(members(recording, 0))
        commands, missing = json.loads(parts["commands"]), json.loads(parts["missing"])
        documents = dict(members(parts["documents"], 0))
        for name, text in documents.items():
            if sys.argv[2:]:
                continue
            printed = subprocess.run(["bash", "-c", commands[name]], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            if printed.stdout != (text + "\n").encode():
                print(f"differs: {commands[name]}")
        if sorted([*documents, *(set(missing) - {"lives", "gpu"})]) != sorted(commands):
            print("a command has neither a document nor a reason")
        moments = {json.loads(text).get("duration_ns") for text in documents.values()}
        if len(moments - {None}) != 1:
            print(f"documents of different moments: {moments}")
        print(f"{json.loads(parts['file'])}: {len(documents)} documents")
        lives = json.loads(parts["lives"])
        if lives and "info" in documents:
            check_lives(lives, json.loads(documents["info"]), data)
        gpu = json.loads(parts["gpu"])
        if gpu and "kernels" in documents:
            check_gpu(gpu, json.loads(documents["kernels"]), data)
            lanes = [lane for lane in gpu["lanes"] if lane["of"] not in ("ranges", "marks")]
            if lanes:
                print(f"    {len(lanes)} lanes of GPU time")
        if missing.get("gpu") == "GPU time was not recorded":
            del missing["gpu"]
        for name, why in missing.items():
            print(f"    no {name}: {why}")


if __name__ == "__main__":
    main()
