export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -q --track-access -o a.gpr -- $BUILD/victims/replayed_uses &&
	gpuprof idle a.gpr | sed 1d | mask times blanks program
