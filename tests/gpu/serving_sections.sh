# Inference: sections of check_gpu.sh, which reads this file.
# shellcheck shell=sh disable=SC2154 # its variables
# a stand-in for an inference server: its memory by PyTorch and by the driver, also while it sleeps
section_serving() {
	need_torch serving || return 0
	if [ ! -e "$build/gpu/libsleeping_pool.so" ]; then
		skip "serving: libsleeping_pool.so was not built (no CUDA headers)"
		return 0
	fi
	timeout -k 10 120 "$gpuprof" run -q --no-symbolize -o "$work/serving.gpr" -- \
		"$python" "$here/paged_server.py" "$build/gpu/libsleeping_pool.so" \
		>"$work/serving.out" 2>"$work/serving.err"
	claim serving "the recorded job ends well (exit $?)" \
		grep -q served_again "$work/serving.out" ||
		tail -n 5 "$work/serving.err"
	timeout -k 10 100 "$python" "$here/judge_paged.py" \
		"$gpuprof" "$work/serving.gpr" "$work/serving.out" 2>&1
	[ ! -s "$work/serving.gpr" ] || cp "$work/serving.gpr" "$out"
}
