# The whole device, and inference: sections of check_gpu.sh, which reads this file.
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
# number lines of ten jobs at ten moments each, beside the jobs' own calls of cuMemGetInfo
section_moments() {
	need_torch moments || return 0
	timeout -k 10 300 "$python" "$here/judge_moments.py" --gpuprof "$gpuprof" --work "$work" \
		--pool "$build/gpu/libsleeping_pool.so" 2>&1
}
# device total = free + each owner + unattributed
section_number_line() {
	need_torch number_line || return 0
	for bare in "" --bare --planted; do
		SNAPSHOTS_OUT=$work/line$bare.json timeout -k 10 100 \
			"$gpuprof" run -q --stacks=all --allocator-details=on \
			-o "$work/line$bare.gpr" -- "$python" "$here/number_line.py" $bare \
			>"$work/line$bare.out" 2>"$work/line$bare.err"
		claim number-line "job $bare ends well" [ -s "$work/line$bare.json" ] ||
			tail -n 5 "$work/line$bare.err"
	done
	timeout -k 10 100 "$gpuprof" run -q --stacks=all -o "$work/async.gpr" -- \
		"$python" "$here/async_backend.py" >"$work/async.out" 2>"$work/async.err"
	claim number-line "job with cudaMallocAsync ends well" [ -s "$work/async.out" ] ||
		tail -n 5 "$work/async.err"
	timeout -k 10 100 "$python" "$here/judge_number_line.py" --gpuprof "$gpuprof" \
		--recording "$work/line.gpr" --looks "$work/line.json" \
		--bare "$work/line--bare.gpr" --bare-looks "$work/line--bare.json" \
		--planted "$work/line--planted.gpr" --planted-looks "$work/line--planted.json" \
		--async "$work/async.gpr" --async-out "$work/async.out" 2>&1
}
