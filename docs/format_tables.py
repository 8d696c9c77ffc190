"""format_tables.py EVENTS.DEF EVENT.H PAGE: prints PAGE with its generated tables made from the sources: between
<!-- kinds --> and <!-- end of kinds --> every kind of event, between <!-- codes --> and <!-- end of codes --> every code
inside a field."""
import re
import sys

# enum of event.h: the field that holds it, or the field of each prefix
FIELDS = {
    "gp_fact": "FACT.key",
    "gp_how": "OWNER_GONE.how",
    "gp_collective": "COLLECTIVE.operation",
    "gp_resource": "RESOURCE.type",
    "gp_why": "GAP.why",
    "gp_scope_by": "SCOPE.by",
    "gp_alloc_flag": "ALLOC.flags",
    "gp_launch": "LAUNCH.block, variant",
    "gp_module_flag": "MODULE_LOAD.flags",
    "gp_call": {"GP_COPY": "COPY.call, kind", "GP_WAIT": "WAIT.call, kind"},
    "gp_call_flag": "COPY.call",
    "gp_gpu_flag": "GPU_COPY.what",
    "gp_gpu_copy": "GPU_COPY.what, kind",
    "gp_gpu_time": "GPU_TIME.what",
    "gp_memory_cause": "DEVICE_MEMORY.state, cause",
    "gp_multicast": "MULTICAST.operation",
    "gp_node": "GRAPH_ADD_NODE.type",
    "gp_range_source": "RANGE_PUSH.source",
    "gp_payload": "RANGE_PUSH.code",
    "gp_object": "OBJECT_NAME.what",
    "gp_curve": "CURVE.curve",
    "gp_used_part": "CURVE.curve, part",
    "gp_count": "COUNT.what",
}
EVENT = re.compile(r"^EVENT\((\d+), \w+, (\w+), \w+, (.*)\)$", re.M)
FIELD = re.compile(r"F\((\w+), (\w+)\)|U\(\d\)")
# a comment stands behind its member, or before it where the line would be too long
MEMBER = re.compile(
    r"(?:/\*(?P<before>.*?)\*/\s*)?(?P<name>GP_\w+)(?: = (?P<value>\w+))?,?[ \t]*(?:/\*(?P<behind>[^\n]*?)\*/)?\s*", re.S
)


def words(comment):
    return " ".join(line.strip(" *") for line in (comment or "").strip().splitlines()).strip()


def kinds(events):
    yield "| id | kind | aux | v0 | v1 | v2 | v3 |"
    yield "|---|---|---|---|---|---|---|"
    for number, name, fields in EVENT.findall(events):
        cells = [f"{field}: {meaning.lower()}" if field else "-" for field, meaning in FIELD.findall(fields)]
        cells[0] = cells[0].removesuffix(": number")
        yield f"| {number} | {name} | " + " | ".join(cells) + " |"


def codes(header):
    yield "| field | value | name | meaning |"
    yield "|---|---|---|---|"
    for enum, fields in FIELDS.items():
        body = re.search(r"enum " + enum + r" \{(.*?)\};", header, re.S).group(1).strip()
        members = list(MEMBER.finditer(body))
        if "".join(m.group(0) for m in members) != body:
            sys.exit(f"{enum}: a member that is not understood")
        numbered = [m for m in members if m["value"]]
        for prefix, field in fields.items() if isinstance(fields, dict) else [("", fields)]:
            chosen = [m for m in numbered if m["name"].startswith(prefix)]
            # GP_HOW_CONTEXT_DESTROY: what all of them begin with says nothing
            shared = min((m["name"] for m in chosen), key=len)
            while not all(m["name"].startswith(shared + "_") for m in chosen):
                shared = shared.rpartition("_")[0]
            for m in chosen:
                name = m["name"][len(shared) + 1 :].lower()
                yield f"| {field} | {m['value']} | {name} | {words(m['before'] or m['behind'])} |"


def put(page, mark, table):
    begin, end = f"<!-- {mark} -->\n", f"<!-- end of {mark} -->\n"
    head, tail = page.index(begin) + len(begin), page.index(end)
    return page[:head] + "".join(line + "\n" for line in table) + page[tail:]


events, header, page = (open(name).read() for name in sys.argv[1:])
sys.stdout.write(put(put(page, "kinds", kinds(events)), "codes", codes(header)))
