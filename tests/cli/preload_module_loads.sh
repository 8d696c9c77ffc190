# module loads in dump: size and duration of the call; PTX has the flag 2
export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -q -o r.gpr -- $BUILD/victims/load_images
gpuprof dump --kind module_load r.gpr | grep " gpu0 " | mask took | sed -E '
	s/^.* gpu0 +//; s/0x[0-9a-f]{2,}/ADDRESS/g'
gpuprof dump --json --kind context,module_load r.gpr | sed -E '
	s/.*("kind": )/\1/; s/"0x[0-9a-f]{2,}"/ADDRESS/g; s/("made|"took_ns)": [1-9][0-9]*/\1": N/g
	s/ ("handle)/\n\1/'
# recordings of format 1.10 and older have neither
gpuprof dump --kind module_load --limit 1 $DATA/h200_mlp.gpr | grep " gpu0 "
gpuprof dump --json --kind module_load --limit 1 $DATA/h200_mlp.gpr | grep -o '"bytes.*'
