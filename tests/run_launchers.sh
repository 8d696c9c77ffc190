#!/bin/sh
# Recipes of docs/RECIPES.md without a GPU: records a job of the fake driver in the environment that
# srun, torchrun, a kubelet or a container engine gives a process. Also records it in containers of
# Podman where it is installed.
#   run_launchers.sh BUILD
build=$(cd "$1" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd)
dir=$build/run/launchers
results=${RESULTS:-$dir/results}
gpuprof=$build/gpuprof
job="$build/victims/training_loop 200"
failed=0
rm -rf "$dir"
mkdir -p "$dir"
export LD_LIBRARY_PATH="$build/fake" LC_ALL=C.UTF-8
unset RANK LOCAL_RANK GROUP_RANK TORCHELASTIC_RUN_ID
unset SLURM_PROCID SLURM_LOCALID SLURM_NODEID SLURM_JOB_ID

# judge NAME FILE...: $dir/NAME must have exactly these recordings, each with a peak
judge() {
	name=$1 why=
	shift
	found=$(cd "$dir/$name" && find . -name '*.gpr' | sed 's,^\./,,' | sort | tr '\n' ' ')
	[ "$found" = "$(echo "$*" | tr ' ' '\n' | sort | tr '\n' ' ')" ] || why="recordings: $found"
	for file in "$@"; do
		[ -n "$why" ] || "$gpuprof" timeline "$dir/$name/$file" 2>&1 |
			grep -q 'driver *peak [0-9]' || why="no peak in $file"
	done
	if [ -z "$why" ]; then
		echo "pass launchers/$name" >>"$results"
	else
		echo "fail launchers/$name $why (see $dir/$name)" | tee -a "$results"
		failed=1
	fi
}

# two tasks of a SLURM step on one node, each with its own gpuprof
mkdir "$dir/slurm"
for task in 0 1; do
	env SLURM_JOB_ID=4711 SLURM_PROCID=$((task + 2)) SLURM_LOCALID=$task SLURM_NODEID=1 \
		"$gpuprof" run -q -o "$dir/slurm/%j-r%r-l%l-n%n.gpr" -- $job \
		>"$dir/slurm.$task" 2>&1 &
done
wait
judge slurm 4711-r2-l0-n1.gpr 4711-r3-l1-n1.gpr

# a step that exceeds its time: SIGTERM to its processes, soon after SIGKILL
mkdir "$dir/slurm_killed"
env SLURM_JOB_ID=4712 SLURM_PROCID=0 \
	setsid "$gpuprof" run -q -o "$dir/slurm_killed/%j-r%r.gpr" -- \
	"$build/victims/training_loop" 1000000 >"$dir/slurm_killed.out" 2>&1 &
step=$!
until [ -s "$dir/slurm_killed/4712-r0.gpr" ] || ! kill -0 $step 2>/dev/null; do
	sleep 0.1
done
sleep 0.3
kill -TERM -$step
sleep 0.1
kill -KILL -$step 2>/dev/null
wait $step 2>/dev/null
judge slurm_killed 4712-r0.gpr

# one gpuprof in front of a launcher that gives its ranks torchrun's variables
mkdir "$dir/torchrun"
"$gpuprof" run -q -o "$dir/torchrun/%j-r%r-l%l-n%n.gpr" -- sh -c '
	for rank in 0 1; do
		TORCHELASTIC_RUN_ID=run7 GROUP_RANK=0 WORLD_SIZE=2 \
			RANK=$rank LOCAL_RANK=$rank "$@" &
	done
	wait' launcher $job >"$dir/torchrun.out" 2>&1
judge torchrun run7-r0-l0-n0.gpr run7-r1-l1-n0.gpr

# Docker's and Podman's seccomp profile
mkdir "$dir/seccomp"
within="python3 -B $here/launchers/container_filter.py"
$within true
if [ $? = 77 ]; then
	echo "skip launchers/seccomp no filters here" >>"$results"
else
	$within "$gpuprof" run -q --stacks=native -o "$dir/seccomp/x.gpr" -- $job \
		>"$dir/seccomp.out" 2>&1
	judge seccomp x.gpr
	if $within unshare -U true 2>/dev/null; then
		echo "fail launchers/seccomp the filter lets unshare through" | tee -a "$results"
		failed=1
	fi
fi

# a pod: a read-only root, 64 MiB of /dev/shm, a volume for recordings; the first container is
# killed, and the next one of the pod reads what it left
mkdir "$dir/pod"
inside='mount -t tmpfs -o size=64m shm /dev/shm && mount --bind "$1" "$1" &&
	mount -o remount,ro,bind / && ! touch /not_here 2>/dev/null && touch "$1/volume" || exit 77
	export KUBERNETES_SERVICE_HOST=10.0.0.1 KUBERNETES_SERVICE_PORT=443
	cd /
	setsid "$2" run -q -o "$1/first.gpr" -- "$3" 1000000 &
	until [ -s "$1/first.gpr" ] || ! kill -0 $!; do sleep 0.1; done
	sleep 0.3
	kill -KILL -$!
	wait $!
	"$2" run -q -o "$1/second.gpr" -- "$3" 200
	"$2" timeline "$1/first.gpr"'
own="unshare --mount"
$own true 2>/dev/null || own="unshare -r --mount"
status=77
if $own true 2>/dev/null; then
	$own sh -c "$inside" pod "$dir/pod" "$gpuprof" "$build/victims/training_loop" \
		>"$dir/pod.out" 2>&1
	status=$?
fi
if [ $status = 77 ]; then
	echo "skip launchers/pod no mounts of our own here" >>"$results"
else
	judge pod first.gpr second.gpr
fi

# Podman: containers with an empty root except this machine's /usr, with Podman's own seccomp
# profile and /dev/shm. The last one is killed and shares /dev/shm, where its rings are found.
mkdir -p "$dir/podman" "$dir/root/usr" "$dir/root/etc" "$dir/root/tmp"
for link in bin sbin lib lib64; do
	[ ! -L /$link ] || ln -s usr/$link "$dir/root/$link"
done
engine() {
	podman --root "$dir/engine/root" --runroot "$dir/engine/run" --storage-driver vfs \
		$runtime "$@"
}
# contain HOSTNAME ENGINE'S ARGUMENTS -- COMMAND...: with low limits, because raising them is not
# allowed everywhere
contain() {
	host=$1 given=
	shift
	while [ "$1" != -- ]; do
		given="$given $1"
		shift
	done
	shift
	engine run --rm --name "gpuprof-$host-$$" --hostname "$host" --network none $given \
		--ulimit nofile=1024:1024 --ulimit nproc=1024:1024 \
		-v /usr:/usr:ro -v "$build:/opt/gpuprof:ro" -v "$dir/podman:/recordings" \
		-e LD_LIBRARY_PATH=/opt/gpuprof/fake --rootfs "$dir/root" "$@"
}
runtime=
filtered='grep -q "^Seccomp:.2" /proc/self/status'
contain try -- sh -c "$filtered" >"$dir/podman.out" 2>&1 || runtime="--runtime runc"
if ! contain try -- sh -c "$filtered" >>"$dir/podman.out" 2>&1; then
	echo "skip launchers/podman no containers of Podman with a seccomp filter here" >>"$results"
else
	inside="/opt/gpuprof/gpuprof run -o /recordings/%h.gpr --"
	contain small -- $inside /opt/gpuprof/victims/training_loop 200 >>"$dir/podman.out" 2>&1
	contain large --shm-size=1g -- $inside /opt/gpuprof/victims/training_loop 200 \
		>>"$dir/podman.out" 2>&1
	contain killed --ipc=host -- $inside /opt/gpuprof/victims/training_loop 1000000 \
		>>"$dir/podman.out" 2>&1 &
	until [ -n "$(find "$dir/podman" -name killed.gpr -size +64k)" ] ||
		! kill -0 $! 2>/dev/null; do
		sleep 0.1
	done
	engine kill "gpuprof-killed-$$" >>"$dir/podman.out" 2>&1
	wait $!
	judge podman small.gpr large.gpr killed.gpr
	if ! "$gpuprof" info --json "$dir/podman/killed.gpr" | grep -q '"complete": true'; then
		echo "fail launchers/podman_killed its rings were not found" | tee -a "$results"
		failed=1
	fi
fi
exit $failed
