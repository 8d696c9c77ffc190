# Roles of memory: sections of check_gpu.sh, which reads this file.
# shellcheck shell=sh disable=SC2154 # its variables
# roles_judge NAME RANK OPTIONS...: RANK: "", or ".0" and ".1"
roles_judge() {
	job=$1 rank=$2
	shift 2
	timeout -k 10 60 "$python" "$here/judge_roles.py" --name "roles-$job$rank" \
		--gpuprof "$gpuprof" --recording "$work/roles-$job$rank.gpr" \
		--moments "$work/roles-$job.json$rank" "$@" 2>&1
}
# compares bytes of roles with what the tensors of jobs hold; the jobs need no quiet machine
section_roles() {
	need_torch roles || return 0
	kinds="gpt resnet compile checkpoint serve tracker"
	if "$python" -c 'import transformers' 2>/dev/null; then
		kinds="$kinds llama"
	else
		skip "roles-llama: $python has no transformers"
	fi
	for kind in $kinds; do
		timeout -k 10 120 "$gpuprof" run -q -o "$work/roles-$kind.gpr" -- \
			"$python" "$here/role_jobs.py" "$kind" --out "$work/roles-$kind.json" \
			>"$work/roles-$kind.out" 2>"$work/roles-$kind.err" &
	done
	wait
	for kind in $kinds; do
		claim "roles-$kind" "recorded job ends well" [ -s "$work/roles-$kind.json" ] ||
			{ tail -n 5 "$work/roles-$kind.err"; continue; }
		roles_judge "$kind" ""
		"$gpuprof" peak --by role --why "$work/roles-$kind.gpr" 2>&1 |
			sed 's/^/     /' | head -n 30
		cp "$work/roles-$kind.gpr" "$out"
	done
}
section_role_ranks() {
	need_gpus role_ranks 2 && need_torch role_ranks || return 0
	for kind in ddp fsdp; do
		gathered=
		[ $kind = ddp ] || gathered=--gathered
		timeout -k 10 120 "$gpuprof" run -q -o "$work/roles-$kind.%r.gpr" -- \
			"$python" -m torch.distributed.run --nproc-per-node=2 \
			--master-addr=127.0.0.1 --master-port=29513 \
			"$here/role_jobs.py" $kind --out "$work/roles-$kind.json" \
			>"$work/roles-$kind.out" 2>"$work/roles-$kind.err"
		for rank in 0 1; do
			claim "roles-$kind.$rank" "recorded rank ends well" \
				[ -s "$work/roles-$kind.json.$rank" ] ||
				{ tail -n 5 "$work/roles-$kind.err"; continue; }
			# shellcheck disable=SC2086 # an option, or none
			roles_judge $kind .$rank $gathered
		done
	done
}
