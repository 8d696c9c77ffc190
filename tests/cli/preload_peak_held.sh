for s in python all; do
	rm -f *.gpr
	sh $DATA/../stacks/hold.sh $BUILD $s 5
done
