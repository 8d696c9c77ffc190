LD_LIBRARY_PATH=$BUILD/fake gpuprof run -q --ring 1M -o p.gpr \
	-- $BUILD/victims/million_live 60000 >/dev/null
gpuprof verify p.gpr | grep -o 'nothing damaged'
