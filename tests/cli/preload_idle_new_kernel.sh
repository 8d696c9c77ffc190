export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -q --track-access -o a.gpr -- $BUILD/victims/replayed_uses new &&
	gpuprof idle --least 50 a.gpr | sed 1d | mask times blanks program
