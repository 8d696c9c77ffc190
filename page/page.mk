# The page that `gpuprof report` writes. Only these targets need npm; a build of gpuprof uses the
# committed files of page/dist.
PAGE_DIST := page/dist/page.js page/dist/page.css page/dist/csp.txt

page/node_modules: page/package-lock.json
	cd page && npm ci --no-audit --no-fund && touch node_modules

.PHONY: page check-page page-shots
page: page/node_modules ## build page/dist/ from page/src/; needs npm
	cd page && node tools/bundle.js
page-shots: page/node_modules $(BUILD)/gpuprof $(BUILD)/frag/made_gpu_time ## pictures of docs/REPORT.md; needs npm and Chromium
	GPUPROF=$(BUILD)/gpuprof node page/tools/screenshots.mjs docs/pages
check-page: $(BUILD)/victims/two_gpus $(BUILD)/victims/expandable $(BUILD)/fake/libcuda.so.1
check-page: page/node_modules $(BUILD)/gpuprof $(BUILD)/frag/made_gpu_time $(BUILD)/frag/made_memory $(BUILD)/hostile/made_hostile ## types, lint, tests and fresh files of the page; needs npm and Chromium
	cd page && npx tsc -p . && npx eslint . && GPUPROF=$(abspath $(BUILD))/gpuprof \
		SHOTS=$(abspath $(BUILD))/page-shots node --test --test-concurrency=2 ../tests/page/
	rm -rf $(BUILD)/page && cd page && node tools/bundle.js $(abspath $(BUILD))/page
	for file in $(PAGE_DIST); do cmp $$file $(BUILD)/page/$${file##*/} || exit 1; done
