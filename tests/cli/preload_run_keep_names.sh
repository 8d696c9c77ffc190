export LD_LIBRARY_PATH=$BUILD/fake
host=$(uname -n | cut -d. -f1)
made() {
	gpuprof run -q -o $1 $BUILD/victims/leak_two
	touch -d "1 hour ago" "$(echo $1 | sed s/%%/%/g)"
}
for n in "$host-1-20260101T000000-0.gpr" "x$host-1-20260101T000000-0.gpr" \
	"$host-1-2026010T000000-0.gpr" "$host-1-20260101T000000-a.gpr" \
	"$host-1-20260101T000000-0.x.gpr" "$host--20260101T000000-0.gpr" \
	"$host-1-20260101T000000-3.12.gpr"; do
	made $n
done
gpuprof run --keep 1 -o %h-%p-%t-%r.gpr $BUILD/victims/leak_two 2>&1 | grep removed | mask host
ls | grep -v -- "-$(date -u +%Y%m)" | mask host
made job%%_me.gpr
VAR=me gpuprof run --keep 1 -o "job%%_%q{VAR}.gpr" $BUILD/victims/leak_two 2>&1 | grep removed
VAR=you gpuprof run --keep 1 -o "job%%_%q{VAR}.gpr" $BUILD/victims/leak_two 2>&1 | grep removed
ls job*
