cd $DATA && for r in h200_phases leak_loss_list; do
	gpuprof top --by range --of allocated $r.gpr | grep -v ^next
done
gpuprof top --by operator --range backward --of allocated leak_loss_list.gpr | tail -n +3
