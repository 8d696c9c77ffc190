# Modules of PyTorch: a section of check_gpu.sh, which reads this file.
# shellcheck shell=sh disable=SC2154 # its variables
# The twin has hooks on all modules and no recorder. A pair runs at once. _backward: nodes as well.
section_modules() {
	need_torch modules || return 0
	for what in llama convolutions checkpoint replaced \
		llama_backward convolutions_backward checkpoint_backward; do
		job=modules_$what
		nodes=off
		case $what in *_backward) nodes=on ;; esac
		timeout -k 10 60 "$python" "$here/module_jobs.py" "$what" \
			"$work/$job.twin.json" --twin >"$work/$job.twin" 2>"$work/$job.twin-err" &
		timeout -k 10 60 "$gpuprof" run -q --ring 0 --backward-modules=$nodes \
			-o "$work/$job.gpr" -- \
			"$python" "$here/module_jobs.py" "$what" "$work/$job.json" \
			>"$work/$job.out" 2>"$work/$job.err"
		claim "$job" "recorded job ends well (exit $?)" [ -s "$work/$job.json" ] ||
			tail -n 5 "$work/$job.err"
		wait
		claim "$job" "stdout is that of the twin" same "$work/$job.out" "$work/$job.twin" ||
			tail -n 5 "$work/$job.twin-err"
		"$python" "$here/judge_modules.py" --name "$job" --gpuprof "$gpuprof" \
			--recording "$work/$job.gpr" --job "$work/$job.json" \
			--twin "$work/$job.twin.json" 2>&1
	done
}
