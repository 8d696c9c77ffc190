# the parts of a start, and the lines that load modules; the load in step 6 is not a part of it
export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -q --stacks python -o r.gpr -- python3 -B $CLI/load_job.py
cat >show.py <<'END'
import json, sys

report = json.load(sys.stdin)
print(report["why"], report["has_program_start"], report["has_first_step"], report["cut"])
parts, lines = report["parts"], report["module_loads"]
assert [part["at_ns"] for part in parts] == sorted(part["at_ns"] for part in parts)
total = report["to_ns"] - report["from_ns"]
print("adds up:", sum(part["took_ns"] for part in parts) == total)
for part in sorted(parts, key=lambda part: part["part"]):
    print(*(part[key] for key in ("part", "count", "untimed", "bytes")))
for line in sorted(lines, key=lambda line: line["line"]):
    assert line["took_ns"] >= line["longest_ns"] > 0
    names = [frame["function"] for frame in line["stack"]]
    print(*(line[key] for key in ("count", "ptx", "bytes", "line")), *names)
END
gpuprof startup --json r.gpr | python3 show.py
gpuprof startup r.gpr | sed 's/[0-9.]*%/N%/; s/of it: .*, /of it: PART, /' |
	mask times blanks >report
sed -n 1,4p report
sed -n '5,/^$/p' report | sort
sed -n '/module loads by line/,$p' report | sort
gpuprof startup --stacks --top 1 r.gpr | tail -n 1
# a forked child does not have the program's start
gpuprof run -q -o child-%p.gpr -- python3 -B -c '
import os, runpy, sys
if os.fork() == 0:
    runpy.run_path(sys.argv[1])
else:
    os.wait()' $CLI/load_job.py
gpuprof startup --json child-*.gpr | grep has_program_start
