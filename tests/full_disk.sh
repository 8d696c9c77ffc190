#!/bin/sh
# Jobs on a disk that is full: from the start, from the first block on, from the middle on, and with
# room again later. One job is killed before its full disk is emptied. The recorded and the lost
# events together must be those of the job. Needs a mount namespace of its own, which
# run_failures.sh makes.
#   full_disk.sh BUILD DIR RESULTS
build=$1 dir=$2 results=$3
failed=0
cd "$dir" && mkdir -p disk || exit 2
export LD_LIBRARY_PATH="$build/fake"

# json COMMAND...: its output, a key a line, without blanks
json() {
	"$build/gpuprof" "$@" 2>/dev/null | tr -d ' \n' | tr ',{}' '\n\n\n'
}

# figure KEY FILE: the numbers of all lines `"KEY":NUMBER`, added up
figure() {
	awk -F: -v key="\"$1\"" '$1 == key { sum += $2 } END { printf "%.0f", sum }' "$2"
}

# lost FILE: lost memory events
lost() {
	awk -F: '$1 == "\"lost\"" && $2 == "" { is_lost = 1 }
		is_lost && $1 == "\"memory\"" { print $2; exit }' "$1"
}

# memory FILE: all memory events, recorded or lost
memory() {
	sum=$(lost "$1")
	for kind in alloc free alloc_failed free_failed map unmap unmap_failed owner_gone gap \
		block_alloc block_free resource resource_gone scope; do
		sum=$((sum + $(figure $kind "$1")))
	done
	echo "$sum"
}

# launches FILE: recorded and lost launches
launches() {
	figure launch "$1"
}

say() {
	echo "$1 failures/$2 $3" >>"$results"
	[ "$1" = pass ] || { echo "$1 failures/$2 $3" && failed=1; }
}

# same NAME WHAT EXPECTED FOUND: keeps the first difference
same() {
	[ "$3" = "$4" ] || [ -n "$why" ] || why="$2: expected $3, found $4"
}

verdict() {
	if [ -n "$why" ]; then
		say fail "$1" "$why (see $dir)"
	else
		say pass "$1"
	fi
}

# disk KIB: a new tmpfs of 2 MiB with this much room
disk() {
	umount disk 2>/dev/null
	mount -t tmpfs -o size=2m none disk
	dd if=/dev/zero of=disk/fill bs=1k count=$((2048 - $1)) 2>/dev/null
}

# job RECORDING STEPS MS
job() {
	GPUPROF_OUTPUT=$1 LD_PRELOAD="$build/libgpuprof.so" "$build/victims/training_loop" "$2" \
		"$3" >out 2>err
}

# first KEY FILE
first() {
	awk -F: -v key="\"$1\"" '$1 == key { print $2; exit }' "$2"
}

# wait_for COMMAND...: for at most 20 s
wait_for() {
	tries=0
	until "$@"; do
		tries=$((tries + 1))
		[ $tries -lt 2000 ] && kill -0 $job 2>/dev/null || return 1
		sleep 0.01
	done
}

of_job() {
	json ctl --json | awk -F: -v pid="$job" '$1 == "\"pid\"" { is_it = $2 == pid } is_it' >ctl
}

loses() {
	of_job
	[ "$(lost ctl)" -gt 0 ] 2>/dev/null
}

# peaks NAME RECORDING: compares them with those that the job printed
peaks() {
	json timeline --json "$2" >timeline
	same "$1" "reserved peak" "$(sed 's/.*max_reserved //' out)" \
		"$(first reserved_peak_bytes timeline)"
	same "$1" "allocated peak" "$(sed 's/.*max_allocated \([0-9]*\).*/\1/' out)" \
		"$(first allocated_peak_bytes timeline)"
}

# ---- no room at all: no file is left, and the job continues ----

name=no_room why=
disk 0
job disk/none.gpr 2 0
grep -q "^gpuprof: nothing is recorded, cannot create '.*none.gpr': no space left$" err ||
	why="the cause is not said"
[ ! -e disk/none.gpr ] || why="an empty recording is left"
grep -q "^2 steps" out || why="the job's output changed"
verdict $name

# ---- full from its first block on; full midway ----

job reference.gpr 40 5
json info --json reference.gpr >reference
for room in 8 140; do
	for ring in 512M 0; do
		name=full_disk_${room}k_$ring why=
		disk $room
		GPUPROF_RING=$ring job disk/full.gpr 40 5
		json info --json disk/full.gpr >full
		same $name "memory events recorded and lost" "$(memory reference)" "$(memory full)"
		same $name "launches recorded and lost" "$(launches reference)" "$(launches full)"
		# if a last checkpoint found room, the figures must be right; else none may be
		# reported as right
		[ $room -gt 8 ] || same $name complete false "$(first complete full)"
		[ "$(first complete full)" = false ] || peaks $name disk/full.gpr
		same $name damaged false "$(first damaged full)"
		[ "$(lost full)" -gt 0 ] || why="nothing was lost: the disk was not full"
		grep -q "^gpuprof: cannot write '.*full.gpr': no space left$" err ||
			why="the cause is not said"
		verdict $name
	done
done

# ---- room again: all figures since the start are right, only details are lost ----

for ring in 512M 0; do
	name=room_again_$ring why=
	disk 140
	GPUPROF_RING=$ring GPUPROF_OUTPUT=disk/again.gpr LD_PRELOAD="$build/libgpuprof.so" \
		"$build/victims/training_loop" 200 10 >out 2>err &
	job=$!
	wait_for loses || why="nothing was lost"
	rm disk/fill
	wait $job
	cp out printed
	rm reference.gpr
	job reference.gpr 200 0
	cp printed out
	json info --json reference.gpr >reference_200
	json info --json disk/again.gpr >again
	same $name "memory events recorded and lost" "$(memory reference_200)" "$(memory again)"
	same $name "launches recorded and lost" "$(launches reference_200)" "$(launches again)"
	same $name complete true "$(first complete again)"
	[ "$(lost again)" -gt 0 ] || why="no loss is told"
	peaks $name disk/again.gpr
	"$build/gpuprof" verify disk/again.gpr >verify 2>&1 ||
		why="verify finds: $(tail -n 1 verify)"
	verdict $name
done

# ---- killed while the disk was full: the events counted until then are reported ----

name=killed_on_full_disk why=
disk 140
GPUPROF_RING=0 GPUPROF_OUTPUT=disk/killed.gpr LD_PRELOAD="$build/libgpuprof.so" \
	"$build/victims/training_loop" 100000 5 >out 2>err &
job=$!
wait_for loses || why="nothing was lost"
kill -9 $job
wait $job 2>/dev/null
of_job
orders=$(first memory_events ctl)
rm disk/fill
json info --json disk/killed.gpr >killed
# the job's only thread may have taken an order number for an event that it no longer wrote
found=$(memory killed)
[ "$found" = "$((orders - 1))" ] || same $name "memory events recorded and lost" "$orders" "$found"
[ "$(lost killed)" -gt 0 ] || why="no loss is told"
verdict $name
umount disk
exit $failed
