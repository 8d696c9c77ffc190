for c in age stack; do
	gpuprof frag -o $c.svg --colour $c --at 500ms $DATA/h200_gpt_stacks.gpr && python3 -c '
import sys, xml.dom.minidom as m

d = m.parse(sys.argv[1])
print(len(d.getElementsByTagName("rect")) > 600)
' $c.svg
done
