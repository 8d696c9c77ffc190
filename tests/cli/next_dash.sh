cp $DATA/fake-training.gpr ./-x
next=$(gpuprof info -- -x | sed -n "s/^next: //p")
echo "$next"
eval "$next" | head -n 1
