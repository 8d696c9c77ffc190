cd $DATA &&
	gpuprof top --by role --why h200_clean_train.gpr &&
	gpuprof diff --by role h200_gpt_stacks.gpr h200_gpt_oom.gpr | sed -n '/^GPU 0, a/,$p'
gpuprof peak --by role h200_gpt_eager.gpr | tail -n 2
gpuprof peak --why h200_ddp.gpr
gpuprof peak --by role --json --of allocated h200_libraries.gpr |
	grep -oE '"rule": "[^"]*", "rules"'
# segments of graphs, known only after their request, are the same in both
gpuprof top --by role --of driver h200_gpt_graph.gpr | grep graph_pool
gpuprof peak --by role --at end --of driver h200_gpt_graph.gpr | grep graph_pool
# so are pages of expandable segments, beside other memory
gpuprof top --by role --why --of driver h200_gpt_expandable.gpr | grep ": A seg\|: The prog"
gpuprof peak --by role --why --at end --of driver h200_gpt_expandable.gpr |
	grep ": A seg\|: The prog"
# without names, blocks that a capture keeps may be workspaces, as here
gpuprof peak --by role --why --at end --of allocated h200_gpt_graph.gpr | grep ": No rule"
