export LD_LIBRARY_PATH=$BUILD/fake NVTX_INJECTION64_PATH=/opt/tool/libTools.so
gpuprof run -q --torch-ranges=off --no-symbolize -o a.gpr -- $BUILD/victims/training_loop 2 >out
gpuprof peak --by range --of allocated a.gpr | tail -n 4 | sed 's/ -- .*//'
gpuprof top --range x a.gpr
env -u NVTX_INJECTION64_PATH gpuprof run -q --torch-ranges=off --no-symbolize -o b.gpr \
	-- $BUILD/victims/training_ranges 2 >out
gpuprof diff --by range b.gpr a.gpr | grep -E '^[AB]: |^memory'
gpuprof diff --by range b.gpr b.gpr | grep -E '^[AB]: |^memory'
