gpuprof snapshot --fit much $$ 2>&1 | head -n 1
gpuprof snapshot --json --map $$ 2>&1 | head -n 1
gpuprof snapshot --device 99 $$ 2>&1 | head -n 1
gpuprof snapshot --columns 3 $$ 2>&1 | head -n 1
gpuprof snapshot --colour age $$ 2>&1 | head -n 1
