/**
 * The address of a view is the hash: #timeline?t=12&by=role. So a moment can be linked, and the
 * browser's buttons work.
 */

/** @typedef {{ page: string, values: Record<string, string> }} Route */

/** @returns {Route} */
export function readRoute() {
	const [page, query] = location.hash.slice(1).split("?");
	return { page: page || "overview", values: Object.fromEntries(new URLSearchParams(query)) };
}

/** A name without case, punctuation and the plural. @param {string} name */
const plain = (name) => name.toLowerCase().replace(/[^a-z]/g, "").replace(/s$/, "");

/** Index of the page with this id or label, "phase" for "Phases" as well; else the first page.
 * @param {[id: string, label: string, ...any[]][]} pages @param {string} name */
export const findPage = (pages, name) => Math.max(0, pages.findIndex(([id, label]) =>
	[id, label].some((known) => plain(known) === plain(name))));

/** @param {string} page @param {Record<string, string | number | null | undefined>} values */
export function hashOf(page, values = {}) {
	const query = new URLSearchParams();
	for (const [key, value] of Object.entries(values)) {
		if (value !== null && value !== undefined && value !== "") query.set(key, String(value));
	}
	const text = query.toString();
	return `#${page}${text ? `?${text}` : ""}`;
}

/** Changes the address without a new view and without an entry of the history.
 * @param {string} page @param {Record<string, string | number | null | undefined>} values */
export function replaceRoute(page, values) {
	history.replaceState(null, "", hashOf(page, values));
}
