cd $DATA && for c in peak top; do
	gpuprof $c --library PyTorch h200_gpt_eager.gpr
	echo $?
done
