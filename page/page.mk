# The page that `gpuprof report` writes. Only these targets need npm; a build of gpuprof uses the
# committed files of page/dist.
page/node_modules: page/package-lock.json
	cd page && npm ci --no-audit --no-fund && touch node_modules

.PHONY: page check-page page-shots
page: page/node_modules ## build page/dist/ from page/src/; needs npm
	cd page && node tools/bundle.js
page-shots: page/node_modules $(BUILD)/gpuprof $(BUILD)/frag/made_gpu_time ## pictures of docs/REPORT.md; needs npm and Chromium
	GPUPROF=$(BUILD)/gpuprof node page/tools/screenshots.mjs docs/pages
PAGE_TESTED := page/node_modules $(BUILD)/gpuprof $(addprefix $(BUILD)/,frag/made_gpu_time frag/made_memory hostile/made_hostile victims/two_gpus victims/expandable fake/libcuda.so.1)
check-page: $(PAGE_TESTED) ## types, lint, tests and fresh files of the page; needs npm and Chromium
	@tests/run_page.sh $(BUILD)
tests: $(if $(filter page,$(WITH)),$(PAGE_TESTED))
