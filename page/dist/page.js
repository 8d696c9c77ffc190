(async () => {
	const text = document.getElementById("gpuprof-report").textContent;
	const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
	const report = await new Response(stream).json();
	for (const recording of report.recordings) {
		const line = document.createElement("p");
		line.textContent = `${recording.file}: ${Object.keys(recording.documents).join(", ")}`;
		document.getElementById("page").append(line);
	}
})();
