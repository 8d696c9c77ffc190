/** Elements, downloads and copies. Data become text only through textContent. */

/** @typedef {Node | string | number | null | undefined | false | any[]} Child Lists may nest. */

/** Makes an element. Keys of `properties`: `class`, `on` (listeners), `style` and
 * attributes; null leaves one out. @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag @param {Record<string, any>} properties @param {...Child} children
 * @returns {HTMLElementTagNameMap[T]} */
export function el(tag, properties = {}, ...children) {
	const element = document.createElement(tag);
	for (const [key, value] of Object.entries(properties)) {
		if (value === null || value === undefined || value === false) continue;
		if (key === "class") element.className = value;
		else if (key === "on") {
			for (const [event, listener] of Object.entries(value)) {
				element.addEventListener(event, /** @type {EventListener} */ (listener));
			}
		} else if (key === "style") Object.assign(element.style, value);
		else element.setAttribute(key, value === true ? "" : String(value));
	}
	for (const child of children.flat(Infinity)) {
		if (child === null || child === undefined || child === false) continue;
		element.append(child instanceof Node ? child : String(child));
	}
	return element;
}

/** @param {string} label @param {() => void} action @param {string} [title] */
export const button = (label, action, title) =>
	el("button", { type: "button", title, on: { click: action } }, label);

/** @param {[string, string][]} choices value and label @param {string} chosen
 * @param {(value: string) => void} action @param {string} label */
export function select(choices, chosen, action, label) {
	const box = el("select", { "aria-label": label });
	for (const [value, text] of choices) {
		box.append(el("option", { value, selected: value === chosen }, text));
	}
	box.addEventListener("change", () => action(box.value));
	return box;
}

/** @param {string} name @param {string} type @param {string} text */
export function download(name, type, text) {
	const url = URL.createObjectURL(new Blob([text], { type }));
	el("a", { href: url, download: name }).click();
	setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A button that copies a command, its title. @param {string | undefined} command */
export function copyCommand(command) {
	if (!command) return null;
	const copy = button("copy command", async () => {
		copy.textContent = (await copyText(copy.title)) ? "copied" : "not copied: see its tooltip";
		setTimeout(() => (copy.textContent = "copy command"), 2000);
	}, command);
	copy.className = "quiet";
	return copy;
}

/** Pages that are files have no clipboard API in some browsers. @param {string} text */
async function copyText(text) {
	try {
		await navigator.clipboard.writeText(text);
		return true;
	} catch {
		const area = el("textarea", { class: "offscreen" });
		area.value = text;
		document.body.append(area);
		area.select();
		const is_copied = document.execCommand("copy");
		area.remove();
		return is_copied;
	}
}

/** A message in place of a picture or a table. @param {string} text @param {string} [kind] */
export const message = (text, kind = "note") => el("p", { class: kind }, text);
