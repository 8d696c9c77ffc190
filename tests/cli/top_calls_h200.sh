cd $DATA && gpuprof top h200_calls.gpr && for by in library operator; do
	gpuprof top --by $by h200_calls.gpr
done
gpuprof dump --kind launch h200_calls.gpr | grep -A 6 add_one
