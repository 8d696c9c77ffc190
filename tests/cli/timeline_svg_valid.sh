python3 $CLI/patch_header.py 432 "a<b>&\"c\" \x1b[31m ]]> d\0" <$DATA/fake-training.gpr >hostile.gpr
gpuprof timeline --svg -o out.svg hostile.gpr && python3 -c '
import xml.etree.ElementTree as x

r = x.parse("out.svg").getroot()
print(r.tag, [t.text for t in r.iter() if t.get("class") == "title"])
print(sorted({e.tag.split("}")[1] for e in r.iter()}))
print(any(("href" in a or a.startswith("on") for e in r.iter() for a in e.keys())))
'
grep -c "url(\|http" out.svg
tail -n 1 out.svg
