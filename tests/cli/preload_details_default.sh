for v in 2.11 2.9; do
	for o in "" --light --allocator-details=on "--light --allocator-details=auto" \
		--allocator-details=off; do
		LD_LIBRARY_PATH=$BUILD/fake/torch-$v/lib:$BUILD/fake \
			gpuprof run -q --no-symbolize $o -o x.gpr -- $BUILD/victims/other_streams
		echo "$v $o:" $(gpuprof info x.gpr | sed -n "s/^allocator *//p")
		rm x.gpr
	done
done
