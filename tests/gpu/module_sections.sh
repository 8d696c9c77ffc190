# Modules of PyTorch: sections of check_gpu.sh, which reads this file.
# shellcheck shell=sh disable=SC2154 # its variables
# modules_record JOB OPTIONS... -- COMMAND...: leaves $work/JOB.{out,err}
modules_record() {
	job=$1
	shift
	timeout -k 10 150 "$gpuprof" run -q --ring 0 "$@" >"$work/$job.out" 2>"$work/$job.err"
}
# modules_judge JOB RANK: RANK: "", or ".0" and ".1"
modules_judge() {
	claim "$1$2" "recorded job ends well" [ -s "$work/$1.json$2" ] ||
		tail -n 5 "$work/$1.err"
	claim "$1$2" "twin ends well" [ -s "$work/$1.twin.json$2" ] ||
		tail -n 5 "$work/$1.twin-err"
	timeout -k 10 100 "$python" "$here/judge_modules.py" --name "$1$2" --gpuprof "$gpuprof" \
		--recording "$work/$1$2.gpr" --job "$work/$1.json$2" \
		--twin "$work/$1.twin.json$2" 2>&1
}
# The twin has hooks on all modules and no recorder. A pair runs at once. _backward: nodes as well.
section_modules() {
	need_torch modules || return 0
	for what in llama convolutions checkpoint replaced gpt serve compile \
		llama_backward convolutions_backward checkpoint_backward; do
		job=modules_$what
		nodes=off
		case $what in *_backward) nodes=on ;; esac
		timeout -k 10 150 "$python" "$here/module_jobs.py" "$what" \
			"$work/$job.twin.json" --twin >"$work/$job.twin" 2>"$work/$job.twin-err" &
		modules_record "$job" --backward-modules=$nodes -o "$work/$job.gpr" -- \
			"$python" "$here/module_jobs.py" "$what" "$work/$job.json"
		wait
		claim "$job" "stdout is that of the twin" same "$work/$job.out" "$work/$job.twin"
		modules_judge "$job" ""
	done
}
# the same with two ranks, one after the other
section_module_ranks() {
	need_gpus module_ranks 2 && need_torch module_ranks || return 0
	for what in ddp fsdp; do
		job=modules_$what
		launch="-m torch.distributed.run --nproc-per-node=2 --master-addr=127.0.0.1"
		# shellcheck disable=SC2086 # a list of words
		modules_record "$job" -o "$work/$job.%r.gpr" -- \
			"$python" $launch --master-port=29514 \
			"$here/module_jobs.py" $what "$work/$job.json"
		# shellcheck disable=SC2086
		timeout -k 10 150 "$python" $launch --master-port=29515 \
			"$here/module_jobs.py" $what "$work/$job.twin.json" --twin \
			>"$work/$job.twin" 2>"$work/$job.twin-err"
		for rank in 0 1; do
			modules_judge "$job" .$rank
		done
	done
}
