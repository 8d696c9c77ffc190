export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -q --stacks python -o r.gpr -- python3 -B $CLI/wait_job.py
cat >show.py <<'END'
import json, sys

report = json.load(sys.stdin)
print("calls recorded:", report["has_calls"], "steps:", report["steps"])
waits, copies = report["waits"], report["copies"]
for row in sorted(waits, key=lambda row: (row["kind"], row["line"])):
    assert row["blocked_ns"] >= row["longest_ns"] >= 0 and row["lost_ns"] >= 0
    functions = [frame["function"] for frame in row["stack"]]
    print(row["kind"], row["count"], row["bytes"], row["repeated"], row["line"], *functions)
    if row["again"]:
        assert row["blocked_ns"] > row["again"]["blocked_ns"] > 0
        print("again", row["again"]["count"], row["again"]["bytes"], row["again"]["key"])
for name in ("blocked_ns", "lost_ns"):
    print(name, "adds up:", report[name] == sum(row[name] for row in waits))
for total in copies:
    print(*(value for key, value in total.items() if key != "took_ns"))
for row in report["timers"]:
    assert 0 < row["least_ns"] <= row["total_ns"] / row["count"] <= row["most_ns"]
    print("timer", row["count"], row["line"], *(frame["function"] for frame in row["stack"]))
END
gpuprof waits --json r.gpr | python3 show.py
# all but the order of the rows, which depends on the time without work
gpuprof waits r.gpr >report
sed -n 1,5p report | mask times blanks | sed 's/[0-9.]*%/N%/'
sed '1,/^no GPU work/d; /^$/,$d' report | mask times blanks | sort
sed -n '/^copies/,/^timers/p' report
sed -n '/^timers/,$p' report | sed 1d | mask times blanks
gpuprof waits --top 1 r.gpr | grep "more row"
gpuprof waits r.gpr r.gpr | mask times blanks | sed 's/[0-9.]*%/N%/'
# without stacks
gpuprof run -q -o s.gpr -- python3 -B $CLI/wait_job.py
gpuprof waits s.gpr | sed -n '/ free /p; $p' | mask times blanks | sed 's,-- .*,--,'
