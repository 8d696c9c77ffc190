$BUILD/frag/made_oom graph made.gpr && gpuprof frag made.gpr | grep -e "empty_cache" -e private
gpuprof frag --json made.gpr | grep captured_at_ns | cut -c 1-110
# a graph whose warm-up made its segment, beside a second graph or a MemPool
for case in graph graphs mempool; do
	$BUILD/frag/made_oom $case $case.gpr
	echo "== $case"
	gpuprof frag --at end $case.gpr | grep -e "to do" -e deleting -e "private [0-9]"
	gpuprof oom $case.gpr | grep ^try
done
