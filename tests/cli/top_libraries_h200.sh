cd $DATA && for by in library node operator; do
	gpuprof top --by $by --top 40 h200_libraries.gpr
done
