/*
 * The loader's lookup without the loader: dl_iterate_phdr -> PT_DYNAMIC -> DT_GNU_HASH (else
 * DT_HASH) -> symbol. Promises to stay inside the object's mapped segments and to hold no lock but
 * dl_iterate_phdr's own, which no constructor holds. Must not need the recorder.
 */
#include "mapped_symbol.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "../libgpuprof/record/held_signals.h"

struct tables {
	const struct dl_phdr_info *object;
	const ElfW(Sym) * symbols;
	const char *strings;
	size_t strings_bytes;
	const uint32_t *gnu_hash;
	const uint32_t *sysv_hash;
	bool is_data; /* what is looked for: data, else a function */
	size_t bytes; /* of what was found */
};

struct search {
	const char *prefix;
	const char *symbol;
	char *path;
	size_t path_bytes;
	bool is_data;
	size_t bytes;
	void *found;
};

struct part {
	const void *anchor, *at;
	size_t bytes;
	enum gp_mapped_part part;
	bool holds;
};

/* ---- the gate ---- */

/*
 * A fork while another thread is inside dl_iterate_phdr leaves the loader's lock held in the child
 * for ever. So a fork closes the gate and waits for the walks under way, and walks wait for the
 * gate; each for at most 50 ms, since either may hold a lock that the other needs.
 */
#define WAIT_TURNS 500
#define TURN_NS 100000

static _Atomic uint32_t walks;	 /* under way */
static _Atomic uint32_t closers; /* forks under way */
/* > 0: this thread is inside, or it is the one that forks: its own walks end before that */
static _Thread_local uint32_t inside __attribute__((tls_model("initial-exec")));

static void wait_a_turn(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = TURN_NS }, NULL);
}

/* Signals wait from before the count until after it: a handler that jumps away is not counted. */
bool gp_walks_begin(uint64_t *signals)
{
	if (inside > 0) {
		inside++;
		return true;
	}
	for (int i = 0; i < WAIT_TURNS; i++) {
		gp_signals_hold(signals);
		/* partner: the add and the load in close_gate: seq_cst, so one sees the other */
		atomic_fetch_add(&walks, 1);
		if (atomic_load(&closers) == 0) {
			inside = 1;
			return true;
		}
		atomic_fetch_sub(&walks, 1);
		gp_signals_release(signals);
		wait_a_turn();
	}
	return false;
}

void gp_walks_end(const uint64_t *signals)
{
	if (--inside > 0)
		return;
	/* partner: the load in close_gate's wait: the loader's lock is given back by then */
	atomic_fetch_sub(&walks, 1);
	gp_signals_release(signals);
}

static void close_gate(void)
{
	inside++;
	/*
	 * partner: the add and the load in gp_walks_begin; both sides seq_cst, since each stores
	 * its own word and then loads the other's
	 */
	atomic_fetch_add(&closers, 1);
	for (int i = 0; i < WAIT_TURNS && atomic_load(&walks); i++)
		wait_a_turn();
}

static void open_gate(void)
{
	inside--;
	/* partner: the load in gp_walks_begin of those that wait */
	atomic_fetch_sub(&closers, 1);
}

/* The only thread here is the one that forked. */
static void open_gate_in_child(void)
{
	inside = 0;
	atomic_store(&walks, 0);
	atomic_store(&closers, 0);
}

__attribute__((constructor)) static void guard_forks(void)
{
	pthread_atfork(close_gate, open_gate, open_gate_in_child);
}

/* ---- reading an object ---- */

/* Whether [at, at + bytes) lies in one loaded segment of the object. */
static bool is_mapped(const struct dl_phdr_info *object, const void *at, size_t bytes)
{
	uintptr_t from = (uintptr_t)at - object->dlpi_addr;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &object->dlpi_phdr[i];
		if (p->p_type == PT_LOAD && from >= p->p_vaddr && from - p->p_vaddr < p->p_memsz &&
		    bytes <= p->p_memsz - (from - p->p_vaddr))
			return true;
	}
	return false;
}

/* glibc relocates the addresses in most objects' dynamic sections, not in all (vdso, musl). */
static const void *table_at(const struct dl_phdr_info *object, ElfW(Addr) value, size_t bytes)
{
	const void *relocated = (const void *)value,
		   *offset = (const void *)(object->dlpi_addr + value);
	if (is_mapped(object, relocated, bytes))
		return relocated;
	return is_mapped(object, offset, bytes) ? offset : NULL;
}

static bool tables_find(const struct dl_phdr_info *object, struct tables *out)
{
	const ElfW(Dyn) *dynamic = NULL;
	for (int i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
			dynamic = (const ElfW(Dyn) *)(object->dlpi_addr +
						      object->dlpi_phdr[i].p_vaddr);
	*out = (struct tables){ .object = object };
	for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
		if (dynamic->d_tag == DT_SYMTAB)
			out->symbols = table_at(object, dynamic->d_un.d_ptr, sizeof(ElfW(Sym)));
		else if (dynamic->d_tag == DT_STRTAB)
			out->strings = table_at(object, dynamic->d_un.d_ptr, 1);
		else if (dynamic->d_tag == DT_STRSZ)
			out->strings_bytes = dynamic->d_un.d_val;
		else if (dynamic->d_tag == DT_GNU_HASH)
			out->gnu_hash = table_at(object, dynamic->d_un.d_ptr, 16);
		else if (dynamic->d_tag == DT_HASH)
			out->sysv_hash = table_at(object, dynamic->d_un.d_ptr, 8);
	}
	return out->symbols && out->strings &&
	       is_mapped(object, out->strings, out->strings_bytes) &&
	       (out->gnu_hash || out->sysv_hash);
}

/* What is behind symbol number `index` when it is a definition of that name and kind. */
static void *defined(struct tables *t, uint32_t index, const char *name)
{
	const ElfW(Sym) *s = &t->symbols[index];
	if (!is_mapped(t->object, s, sizeof *s) || s->st_shndx == SHN_UNDEF || s->st_value == 0)
		return NULL;
	unsigned type = ELF64_ST_TYPE(s->st_info), binding = ELF64_ST_BIND(s->st_info);
	bool is_wanted = t->is_data ? type == STT_OBJECT : type == STT_FUNC || type == STT_NOTYPE;
	if (!is_wanted || (binding != STB_GLOBAL && binding != STB_WEAK))
		return NULL;
	if (s->st_name >= t->strings_bytes ||
	    strncmp(t->strings + s->st_name, name, t->strings_bytes - s->st_name) != 0)
		return NULL;
	t->bytes = s->st_size;
	return (void *)(t->object->dlpi_addr + s->st_value);
}

static void *find_gnu(struct tables *t, const char *name)
{
	uint32_t hash = 5381;
	for (const char *c = name; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	uint32_t buckets = t->gnu_hash[0], first = t->gnu_hash[1], bloom_words = t->gnu_hash[2];
	const uint32_t *bucket =
		(const uint32_t *)((const ElfW(Addr) *)(const void *)(t->gnu_hash + 4) +
				   bloom_words);
	if (buckets == 0 || !is_mapped(t->object, bucket, buckets * sizeof *bucket))
		return NULL;
	const uint32_t *chain = bucket + buckets;
	for (uint32_t i = bucket[hash % buckets]; i >= first; i++) {
		const uint32_t *link = &chain[i - first];
		if (!is_mapped(t->object, link, sizeof *link))
			return NULL;
		void *found = (*link | 1) == (hash | 1) ? defined(t, i, name) : NULL;
		if (found || *link & 1)
			return found;
	}
	return NULL;
}

static void *find_sysv(struct tables *t, const char *name)
{
	uint32_t hash = 0;
	for (const char *c = name; *c; c++) {
		hash = (hash << 4) + (unsigned char)*c;
		hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
	}
	uint32_t buckets = t->sysv_hash[0], chains = t->sysv_hash[1];
	const uint32_t *bucket = t->sysv_hash + 2, *chain = bucket + buckets;
	if (buckets == 0 ||
	    !is_mapped(t->object, bucket, ((size_t)buckets + chains) * sizeof *bucket))
		return NULL;
	uint32_t left = chains; /* a damaged chain may be a ring */
	for (uint32_t i = bucket[hash % buckets]; i && i < chains && left; i = chain[i], left--) {
		void *found = defined(t, i, name);
		if (found)
			return found;
	}
	return NULL;
}

static void keep_path(struct search *search, const char *path)
{
	size_t bytes = path ? strlen(path) + 1 : 0;
	if (!search->path || search->path_bytes == 0)
		return;
	search->path[0] = '\0';
	if (bytes && bytes <= search->path_bytes)
		memcpy(search->path, path, bytes);
}

static int visit(struct dl_phdr_info *object, size_t bytes, void *context)
{
	(void)bytes;
	struct search *search = context;
	const char *path = object->dlpi_name ? object->dlpi_name : "";
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	if (search->prefix && strncmp(name, search->prefix, strlen(search->prefix)) != 0)
		return 0;
	if (is_mapped(object, (const void *)(uintptr_t)&gp_mapped_symbol, 1))
		return 0;
	struct tables tables;
	if (!tables_find(object, &tables))
		return 0;
	tables.is_data = search->is_data;
	search->found = tables.gnu_hash ? find_gnu(&tables, search->symbol) :
					  find_sysv(&tables, search->symbol);
	if (search->found)
		keep_path(search, object->dlpi_name);
	search->bytes = tables.bytes;
	return search->found != NULL;
}

int gp_mapped_walk(int (*look)(struct dl_phdr_info *, size_t, void *), void *context)
{
	uint64_t signals;
	bool is_guarded = gp_walks_begin(&signals);
	int found = dl_iterate_phdr(look, context);
	if (is_guarded)
		gp_walks_end(&signals);
	return found;
}

void *gp_mapped_symbol(const char *prefix, const char *symbol, char *path, size_t path_bytes)
{
	int saved = errno; /* of the wait at the gate too */
	struct search search = {
		.prefix = prefix, .symbol = symbol, .path = path, .path_bytes = path_bytes
	};
	gp_mapped_walk(visit, &search);
	errno = saved;
	return search.found;
}

void *gp_mapped_data(const char *prefix, const char *symbol, size_t *bytes)
{
	int saved = errno;
	struct search search = { .prefix = prefix, .symbol = symbol, .is_data = true };
	gp_mapped_walk(visit, &search);
	*bytes = search.bytes;
	errno = saved;
	return search.found;
}

static bool is_of(const ElfW(Phdr) * p, enum gp_mapped_part part)
{
	switch (part) {
	case GP_MAPPED_ANY:
		return p->p_type == PT_LOAD;
	case GP_MAPPED_CODE:
		return p->p_type == PT_LOAD && p->p_flags & PF_X;
	case GP_MAPPED_CONSTANT:
		return p->p_type == PT_GNU_RELRO || (p->p_type == PT_LOAD && !(p->p_flags & PF_W));
	}
	return false;
}

static int look_for_part(struct dl_phdr_info *object, size_t size, void *context)
{
	(void)size;
	struct part *want = context;
	uintptr_t from = (uintptr_t)want->at - object->dlpi_addr;
	enum gp_mapped_part part = want->part;
	bool has_relro = false;
	if (!is_mapped(object, want->anchor, 1))
		return 0;
	for (int i = 0; i < object->dlpi_phnum; i++)
		has_relro |= object->dlpi_phdr[i].p_type == PT_GNU_RELRO;
	if (part == GP_MAPPED_CONSTANT && !has_relro)
		part = GP_MAPPED_ANY;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &object->dlpi_phdr[i];
		want->holds |= is_of(p, part) && from >= p->p_vaddr &&
			       from - p->p_vaddr < p->p_memsz &&
			       want->bytes <= p->p_memsz - (from - p->p_vaddr);
	}
	return 1;
}

bool gp_mapped_is_part(const void *anchor, enum gp_mapped_part part, const void *at, size_t bytes)
{
	int saved = errno;
	struct part want = { .anchor = anchor, .at = at, .bytes = bytes, .part = part };
	gp_mapped_walk(look_for_part, &want);
	errno = saved;
	return want.holds;
}
