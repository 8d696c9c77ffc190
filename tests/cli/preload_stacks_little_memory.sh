export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -q --memory 6M --stacks=native --stack-events=all -o a.gpr -- $BUILD/victims/leak_two
gpuprof info a.gpr | grep "^stacks"
