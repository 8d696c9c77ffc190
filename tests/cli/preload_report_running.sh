# a page of a job that runs, and one of a recording whose begin was overwritten
mkfifo told
: >ready
LD_LIBRARY_PATH=$BUILD/fake LD_PRELOAD=$PRELOAD GPUPROF_OUTPUT=$PWD/live.gpr \
	$BUILD/victims/run_until_told <told >ready &
exec 3>told
until grep -q ready ready; do kill -0 $! || exit; done
gpuprof report live.gpr
exec 3>&-
wait
python3 $CLI/../page_documents.py live.html running
LD_LIBRARY_PATH=$BUILD/fake LD_PRELOAD=$PRELOAD GPUPROF_OUTPUT=$PWD/cut.gpr GPUPROF_RING=1M \
	$BUILD/victims/training_loop 2000 >out
gpuprof info --json cut.gpr | grep -c '"kept_from_ns": [1-9]'
gpuprof report cut.gpr
python3 $CLI/../page_documents.py cut.html
