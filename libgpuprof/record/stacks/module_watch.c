/*
 * Consecutive lines of maps with one file form a run of mappings; a run with code is a module. Runs
 * are compared with those of the previous look. If no library was unloaded between two looks, a new
 * run began between them, and it replaced none. Otherwise another library may have been loaded and
 * unloaded in its place meanwhile. Then a new run counts from the second look on, and a missing one
 * until the first. A run in both looks may also have been replaced meanwhile, so that time is
 * recorded as doubtful.
 */
#include "module_watch.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "../native/native_learn.h"
#include "../process/own_memory.h"

#define MODULES_MAX 4096u
#define PATH_MAX_KEPT 960u /* with its build id it fits GP_TEXT_MAX */
#define TEXTS_BYTES (1u << 20)
#define MAPS_BYTES (64u << 10)
#define LOOK_NS 50000000u /* between two reads of the loader's counts */
#define NOTES_BYTES 1024u

struct module {
	uint64_t base, end, device, inode;
	uint64_t since; /* ticks */
	uint64_t until; /* of a doubtful time, which has no base */
	uint32_t text;	/* in watch.texts: the text of the definition */
	bool is_seen, is_gone;
	bool is_new; /* found in this look: its time is unknown, and it is not recorded yet */
};

/* Consecutive mappings of one file. */
struct run {
	uint64_t base, end, device, inode;
	bool has_code;
	char path[PATH_MAX_KEPT];
};

struct gp_module_watcher {
	struct module module[MODULES_MAX]; /* by number; [0] is none, [1] the program */
	uint32_t modules;
	uint32_t texts_used;
	char texts[TEXTS_BYTES];
	char maps[MAPS_BYTES];
	char program[PATH_MAX_KEPT];
	struct run run;
	uint64_t looked_ns, looked_ticks; /* when the recorded state was last complete */
	uint32_t caveat;		  /* number of the last doubtful time; 0: none yet */
	struct gp_native_objects count;	  /* before it */
};

bool gp_module_watch_open(struct gp_recorder *r)
{
	r->modules = gp_pages(sizeof *r->modules);
	if (!r->modules)
		return false;
	r->modules->modules = 2;
	ssize_t n = readlink("/proc/self/exe", r->modules->program, PATH_MAX_KEPT - 1);
	r->modules->program[n > 0 ? n : 0] = '\0';
	return true;
}

uint64_t gp_module_watch_memory(const struct gp_recorder *r)
{
	return r->modules ? sizeof *r->modules : 0;
}

/* ---- data in the mapped file itself ---- */

static bool peek(int memory, uint64_t at, void *to, size_t bytes)
{
	return gp_own_memory_read(memory, at, to, bytes) == bytes;
}

/* 0: none in these notes. */
static size_t find_build_id(const unsigned char *notes, size_t bytes, unsigned char id[20])
{
	for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= bytes;) {
		ElfW(Nhdr) note;
		memcpy(&note, notes + at, sizeof note);
		const size_t name = at + sizeof note, content = name + ((note.n_namesz + 3u) & ~3u);
		if (note.n_namesz > bytes || note.n_descsz > bytes)
			return 0;
		if (content + note.n_descsz > bytes)
			return 0;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    memcmp(notes + name, "GNU", 4) == 0 && note.n_descsz <= 20) {
			memcpy(id, notes + content, note.n_descsz);
			return note.n_descsz;
		}
		at = content + ((note.n_descsz + 3u) & ~3u);
	}
	return 0;
}

static size_t read_build_id(int memory, uint64_t base, unsigned char id[20])
{
	ElfW(Ehdr) header;
	ElfW(Phdr) segment[32];
	if (!peek(memory, base, &header, sizeof header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof *segment ||
	    header.e_phnum > 32 ||
	    !peek(memory, base + header.e_phoff, segment, header.e_phnum * sizeof *segment))
		return 0;
	uint64_t lowest = UINT64_MAX;
	for (unsigned k = 0; k < header.e_phnum; k++)
		if (segment[k].p_type == PT_LOAD && segment[k].p_vaddr < lowest)
			lowest = segment[k].p_vaddr & ~(uint64_t)4095;
	for (unsigned k = 0; k < header.e_phnum; k++) {
		unsigned char notes[NOTES_BYTES];
		const size_t bytes =
			segment[k].p_filesz < NOTES_BYTES ? segment[k].p_filesz : NOTES_BYTES;
		if (segment[k].p_type != PT_NOTE ||
		    !peek(memory, base + segment[k].p_vaddr - lowest, notes, bytes))
			continue;
		size_t found = find_build_id(notes, bytes, id);
		if (found)
			return found;
	}
	return 0;
}

/* ---- definitions ---- */

static void module_watch_write(struct gp_recorder *r, uint32_t number, uint64_t until)
{
	const struct module *m = &r->modules->module[number];
	gp_drain_write(r,
		       &(struct gp_record){
			       .kind = GP_MODULE,
			       .device = GP_DEVICE_UNKNOWN,
			       .aux = number,
			       .module = { m->base, m->end - m->base, m->since, until },
		       },
		       r->modules->texts + m->text);
}

/* "BUILDID PATH", kept. False: no room. */
static bool keep_text(struct gp_module_watcher *w, const struct run *run, uint32_t *at)
{
	static const char digits[] = "0123456789abcdef";
	unsigned char id[20];
	const int memory = gp_own_memory_open();
	const size_t path = strlen(run->path), bytes = read_build_id(memory, run->base, id);
	gp_own_memory_close(memory);
	if (w->texts_used + 2 * sizeof id + path + 2 > TEXTS_BYTES)
		return false;
	*at = w->texts_used;
	char *to = w->texts + w->texts_used;
	for (size_t k = 0; k < bytes; k++) {
		*to++ = digits[id[k] >> 4];
		*to++ = digits[id[k] & 15];
	}
	if (!bytes)
		*to++ = '-';
	*to++ = ' ';
	memcpy(to, run->path, path + 1);
	w->texts_used = (uint32_t)(to + path + 1 - w->texts);
	return true;
}

static void see_module(struct gp_recorder *r, const struct run *run)
{
	struct gp_module_watcher *w = r->modules;
	for (uint32_t k = 1; k < w->modules; k++) {
		struct module *m = &w->module[k];
		if (m->base != run->base || m->inode != run->inode || m->device != run->device ||
		    m->is_gone)
			continue;
		m->is_seen = true;
		if (m->end == run->end)
			return;
		m->end = run->end; /* the look came while it was being mapped */
		if (!m->is_new)
			module_watch_write(r, k, 0);
		return;
	}
	bool is_program = w->module[1].base == 0 && strcmp(run->path, w->program) == 0;
	uint32_t number = is_program ? 1 : w->modules, text;
	if (number >= MODULES_MAX || !keep_text(w, run, &text)) {
		gp_log(true, "too many libraries: native frames in later ones get no names", NULL);
		return;
	}
	w->modules += !is_program;
	w->module[number] = (struct module){ .base = run->base,
					     .end = run->end,
					     .device = run->device,
					     .inode = run->inode,
					     .text = text,
					     .is_seen = true,
					     .is_new = true };
}

/* ---- /proc/self/maps ---- */

static void end_run(struct gp_recorder *r)
{
	struct run *run = &r->modules->run;
	if (run->base && run->has_code)
		see_module(r, run);
	run->base = 0;
}

static uint64_t number(const char **at, unsigned base)
{
	uint64_t value = 0;
	for (;; (*at)++) {
		unsigned digit = (unsigned char)**at;
		digit = digit >= 'a' ? digit - 'a' + 10 : digit - '0';
		if (digit >= base)
			return value;
		value = value * base + digit;
	}
}

/* "7f00-7f10 r-xp 00001000 08:01 1234   /path" */
static void see_line(struct gp_recorder *r, const char *line)
{
	struct run *run = &r->modules->run;
	const char *at = line;
	const uint64_t base = number(&at, 16);
	at += *at == '-';
	const uint64_t end = number(&at, 16);
	at += *at == ' ';
	const bool has_code = strnlen(at, 4) == 4 && at[2] == 'x';
	at = strchr(at, ' ');
	if (!at++)
		return;
	const uint64_t offset = number(&at, 16);
	at += *at == ' ';
	uint64_t device = number(&at, 16) << 32;
	at += *at == ':';
	device |= number(&at, 16);
	at += *at == ' ';
	const uint64_t inode = number(&at, 10);
	at += strspn(at, " ");
	if (*at != '/') {
		if (*at || inode) /* anonymous memory inside a module: its zeros */
			end_run(r);
		return;
	}
	if (run->base && (offset == 0 || run->inode != inode || run->device != device))
		end_run(r);
	if (!run->base) {
		if (offset != 0) /* a part of a file: modules do not begin like that */
			return;
		*run = (struct run){ .base = base, .device = device, .inode = inode };
		strncat(run->path, at, PATH_MAX_KEPT - 1);
	}
	run->end = end;
	run->has_code |= has_code;
}

static bool module_watch_look(struct gp_recorder *r)
{
	struct gp_module_watcher *w = r->modules;
	int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (maps < 0)
		return false;
	size_t held = 0;
	ssize_t n;
	while ((n = read(maps, w->maps + held, MAPS_BYTES - 1 - held)) > 0) {
		held += (size_t)n;
		w->maps[held] = '\0';
		char *line = w->maps, *end;
		for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
			*end = '\0';
			see_line(r, line);
		}
		held = strlen(line);
		if (held == MAPS_BYTES - 1)
			held = 0; /* no valid line is so long */
		memmove(w->maps, line, held);
	}
	end_run(r);
	close(maps);
	return n == 0;
}

/* New modules did not exist before `since`; missing ones existed until `until`. */
static void module_watch_settle(struct gp_recorder *r, uint64_t since, uint64_t until)
{
	struct gp_module_watcher *w = r->modules;
	for (uint32_t k = 1; k < w->modules; k++) {
		struct module *m = &w->module[k];
		if (m->is_new) {
			m->is_new = false;
			m->since = since;
			module_watch_write(r, k, 0);
		} else if (m->base && !m->is_seen && !m->is_gone) {
			m->is_gone = true;
			module_watch_write(r, k, until > m->since ? until : m->since + 1);
		}
	}
}

static void write_caveat(struct gp_recorder *r, uint64_t since, uint64_t until)
{
	struct gp_module_watcher *w = r->modules;
	struct module *last = &w->module[w->caveat];
	if (w->caveat && (last->until == since || w->modules == MODULES_MAX)) {
		last->until = until;
	} else if (w->modules < MODULES_MAX) {
		w->caveat = w->modules++;
		last = &w->module[w->caveat];
		*last = (struct module){ .since = since, .until = until };
	} else {
		return; /* numbers of libraries have run out, too */
	}
	gp_drain_write(r,
		       &(struct gp_record){ .kind = GP_MODULE,
					    .device = GP_DEVICE_UNKNOWN,
					    .aux = w->caveat,
					    .module.since = last->since,
					    .module.until = last->until },
		       NULL);
}

/* A look with the times `since` and now, between which the loader's counts were compared. */
static void look_again(struct gp_recorder *r, uint64_t since, const struct gp_native_objects *count)
{
	struct gp_module_watcher *w = r->modules;
	struct gp_native_objects after;
	for (uint32_t k = 1; k < w->modules; k++)
		w->module[k].is_seen = false;
	if (!module_watch_look(r))
		return;
	const bool is_calm = gp_native_count_objects(&after) && after.unloaded == w->count.unloaded;
	const uint64_t now = gp_clock_now();
	if (!since || is_calm) {
		module_watch_settle(r, since, now);
	} else {
		module_watch_settle(r, now, since);
		write_caveat(r, since, now);
	}
	w->count = *count;
	w->looked_ticks = now;
}

void gp_module_watch(struct gp_recorder *r)
{
	struct gp_module_watcher *w = r->modules;
	const uint64_t now_ns = gp_now_ns(), ticks = gp_clock_now();
	struct gp_native_objects count;
	if (!w || (now_ns - w->looked_ns < LOOK_NS && !atomic_load(&r->is_ending)) ||
	    !gp_native_count_objects(&count))
		return;
	w->looked_ns = now_ns;
	if (w->looked_ticks && count.loaded == w->count.loaded &&
	    count.unloaded == w->count.unloaded)
		w->looked_ticks = ticks; /* unchanged */
	else
		look_again(r, w->looked_ticks, &count);
}
