# Pages of `gpuprof report` and exports: sections of check_gpu.sh, which reads this file.
# shellcheck shell=sh disable=SC2154 # its variables
# report_job JOB SCRIPT ARGUMENTS...: recorded; leaves $work/report-JOB.{gpr,peaks,out,err}
report_job() {
	job=$1 details=
	shift
	case $1 in snapshot_jobs.py) details=--allocator-details=on ;; esac
	# shellcheck disable=SC2086 # an option, or none
	SNAPSHOTS_OUT=$work/report-$job.snapshots timeout -k 10 90 \
		"$gpuprof" run -q $details -o "$work/report-$job.gpr" -- \
		"$python" "$here/report_job.py" "$work/report-$job.peaks" "$@" \
		>"$work/report-$job.out" 2>"$work/report-$job.err"
}
# report_judge JOB: writes its page, and compares it with the job's peaks and snapshots
report_judge() {
	job=$1 page=$work/report-$1.html
	claim "report-$job" "recorded job ends well" [ -s "$work/report-$job.peaks" ] || {
		tail -n 5 "$work/report-$job.err"
		return 0
	}
	timeout -k 10 60 "$gpuprof" report --force -o "$page" "$work/report-$job.gpr" \
		2>"$work/report-$job.report-err"
	claim "report-$job" "page is written" [ -s "$page" ] || {
		tail -n 5 "$work/report-$job.report-err"
		return 0
	}
	set --
	[ ! -s "$work/report-$job.snapshots" ] || set -- --snapshots "$work/report-$job.snapshots"
	timeout -k 10 60 "$python" "$here/judge_report.py" --name "$job" --gpuprof "$gpuprof" \
		--recording "$work/report-$job.gpr" --page "$page" \
		--peaks "$work/report-$job.peaks" "$@" 2>&1
}
# The peaks of the pages of ten jobs are PyTorch's, and the segments of four are its snapshots'.
# Only one job needs the memory of the others.
section_report() {
	need_torch report || return 0
	report_job eager gpt_train.py --steps 4 &
	report_job graph gpt_train.py --steps 5 --layers 4 --graph &
	report_job compile gpt_train.py --steps 3 --layers 2 --compile &
	report_job serve role_jobs.py serve --out "$work/report-serve.json" &
	report_job workers recipe_jobs.py dataloader &
	for kind in expandable streams lengths graphs; do
		report_job "snapshots-$kind" snapshot_jobs.py $kind &
	done
	wait
	report_job oom gpt_train.py --steps 3 --layers 4 --oom
	for job in eager graph compile serve workers oom snapshots-expandable snapshots-streams \
		snapshots-lengths snapshots-graphs; do
		report_judge "$job"
	done
	cp "$work"/report-*.gpr "$work"/report-*.html "$out" 2>/dev/null
	return 0
}
# PyTorch and HTA read what `gpuprof export` writes.
# HTA: folder with the source of HolisticTraceAnalysis; it needs pandas, networkx, plotly, psutil
section_exports() {
	need_torch exports || return 0
	file=$work/exports.gpr
	timeout -k 10 100 "$gpuprof" run -q --force --gpu-time=always --allocator-details=on \
		-o "$file" -- \
		"$python" "$here/gpu_time_jobs.py" eager --await "$gpuprof" "$file" \
		>"$work/exports.out" 2>"$work/exports.err"
	ended=$?
	claim exports "recorded job ends well (exit $ended)" succeeded "$ended"
	"$gpuprof" export --format torch --force -o "$work/snapshot.pickle" "$file"
	"$gpuprof" export --format chrome --force -o "$work/trace.json" "$file"
	timeout -k 10 120 "$python" "$here/judge_exports.py" "$gpuprof" "$file" "$work" \
		>"$work/exports.judged" 2>&1
	ended=$?
	grep -E '^(PASS|FAIL|SKIP) ' "$work/exports.judged"
	claim exports "all readers end well (exit $ended)" succeeded "$ended" ||
		tail -n 5 "$work/exports.judged"
}
