/*
 * One line of maps after the other becomes a run of mappings of one file; a run with code is a
 * module. Runs are compared with those of the look before. A module's time begins at the look that
 * had not seen it and ends at the first that misses it: between two looks it may have been either,
 * and readers are told so.
 */
#include "module_watch.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "native_learn.h"

#define MODULES_MAX 4096u
#define PATH_MAX_KEPT 960u /* with its build id it fits GP_TEXT_MAX */
#define TEXTS_BYTES (1u << 20)
#define MAPS_BYTES (64u << 10)
#define SOON_NS 50000000u     /* between looks while libraries are being loaded */
#define LATER_NS 10000000000u /* an unload that no load follows */
#define NOTES_BYTES 1024u

struct module {
	uint64_t base, end, device, inode;
	uint64_t since; /* ticks */
	uint32_t text;	/* in watch.texts: what the definition says */
	bool is_seen, is_gone;
};

/* Mappings of one file that follow each other. */
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
	uint64_t looked_ns, looked_ticks; /* the look before */
	uint64_t loads;			  /* as the loader counted them then */
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

/* ---- what the mapped file says of itself ---- */

/* It may be unmapped at any moment: read through the kernel. */
static bool peek(uint64_t at, void *to, size_t bytes)
{
	const struct iovec local = { to, bytes }, remote = { (void *)(uintptr_t)at, bytes };
	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)bytes;
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

static size_t read_build_id(uint64_t base, unsigned char id[20])
{
	ElfW(Ehdr) header;
	ElfW(Phdr) segment[32];
	if (!peek(base, &header, sizeof header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_phentsize != sizeof *segment || header.e_phnum > 32 ||
	    !peek(base + header.e_phoff, segment, header.e_phnum * sizeof *segment))
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
		    !peek(base + segment[k].p_vaddr - lowest, notes, bytes))
			continue;
		size_t found = find_build_id(notes, bytes, id);
		if (found)
			return found;
	}
	return 0;
}

/* ---- telling ---- */

static void tell(struct gp_recorder *r, uint32_t number, uint64_t until)
{
	const struct module *m = &r->modules->module[number];
	gp_drain_tell(r,
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
	const size_t path = strlen(run->path), bytes = read_build_id(run->base, id);
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
		if (m->base == run->base && m->end == run->end && m->inode == run->inode &&
		    m->device == run->device && !m->is_gone) {
			m->is_seen = true;
			return;
		}
	}
	bool is_program = w->module[1].base == 0 && strcmp(run->path, w->program) == 0;
	uint32_t number = is_program ? 1 : w->modules, text;
	if (number >= MODULES_MAX || !keep_text(w, run, &text)) {
		gp_say(true, "too many libraries: native frames in later ones get no names", NULL);
		return;
	}
	w->modules += !is_program;
	w->module[number] = (struct module){ run->base,	      run->end, run->device, run->inode,
					     w->looked_ticks, text,	true,	     false };
	tell(r, number, 0);
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
		if (*at || inode) /* memory without a name lies within a module: its zeros */
			end_run(r);
		return;
	}
	if (run->base && (offset == 0 || run->inode != inode || run->device != device))
		end_run(r);
	if (!run->base) {
		if (offset != 0) /* a piece of a file: no module begins so */
			return;
		*run = (struct run){ .base = base, .device = device, .inode = inode };
		strncat(run->path, at, PATH_MAX_KEPT - 1);
	}
	run->end = end;
	run->has_code |= has_code;
}

static bool look(struct gp_recorder *r)
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
			held = 0; /* no line is so long */
		memmove(w->maps, line, held);
	}
	end_run(r);
	close(maps);
	return n == 0;
}

static void forget_unseen(struct gp_recorder *r)
{
	struct gp_module_watcher *w = r->modules;
	const uint64_t now = gp_clock_now();
	for (uint32_t k = 1; k < w->modules; k++) {
		struct module *m = &w->module[k];
		if (m->base && !m->is_seen && !m->is_gone) {
			m->is_gone = true;
			tell(r, k, now);
		}
	}
}

void gp_module_watch(struct gp_recorder *r)
{
	struct gp_module_watcher *w = r->modules;
	const uint64_t now_ns = gp_clock_raw_ns(CLOCK_MONOTONIC_RAW), loads = *gp_native_loads;
	const bool is_new = w && (loads != w->loads || w->looked_ns == 0);
	if (!w || (w->looked_ns && now_ns - w->looked_ns < (is_new ? SOON_NS : LATER_NS)))
		return;
	const uint64_t ticks = gp_clock_now();
	for (uint32_t k = 1; k < w->modules; k++)
		w->module[k].is_seen = false;
	w->loads = loads;
	if (look(r))
		forget_unseen(r);
	w->looked_ns = now_ns;
	w->looked_ticks = ticks;
}
