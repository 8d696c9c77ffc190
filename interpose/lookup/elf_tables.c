/* Reading one object's symbol table (elf_tables.h). Must not include record/. */
#include "elf_tables.h"

#include <elf.h>
#include <string.h>

#define HIDDEN_VERSION 0x8000u
#define LAST_BASE_VERSION 1u /* 0 is local, 1 is the base version */

bool gp_elf_is_mapped(const struct dl_phdr_info *object, const void *at, size_t bytes)
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

/*
 * glibc relocates the addresses in the dynamic sections of most objects, but not of all (vdso,
 * musl).
 */
static const void *table_at(const struct dl_phdr_info *object, ElfW(Addr) value, size_t bytes)
{
	const void *relocated = (const void *)value,
		   *offset = (const void *)(object->dlpi_addr + value);
	if (gp_elf_is_mapped(object, relocated, bytes))
		return relocated;
	return gp_elf_is_mapped(object, offset, bytes) ? offset : NULL;
}

static void tables_take(struct gp_elf_tables *out, const ElfW(Dyn) * entry)
{
	const ElfW(Addr) at = entry->d_un.d_ptr;
	switch (entry->d_tag) {
	case DT_SYMTAB:
		out->symbols = table_at(out->object, at, sizeof(ElfW(Sym)));
		break;
	case DT_STRTAB:
		out->strings = table_at(out->object, at, 1);
		break;
	case DT_STRSZ:
		out->strings_bytes = entry->d_un.d_val;
		break;
	case DT_GNU_HASH:
		out->gnu_hash = table_at(out->object, at, 16);
		break;
	case DT_HASH:
		out->sysv_hash = table_at(out->object, at, 8);
		break;
	case DT_VERSYM:
		out->versions = table_at(out->object, at, sizeof(ElfW(Half)));
		break;
	default:
		break;
	}
}

bool gp_elf_tables_read(const struct dl_phdr_info *object, struct gp_elf_tables *out)
{
	*out = (struct gp_elf_tables){ .object = object };
	for (int i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
			out->dynamic = (const ElfW(Dyn) *)(object->dlpi_addr +
							   object->dlpi_phdr[i].p_vaddr);
	for (const ElfW(Dyn) *d = out->dynamic; d && d->d_tag != DT_NULL; d++)
		tables_take(out, d);
	return out->symbols && out->strings &&
	       gp_elf_is_mapped(object, out->strings, out->strings_bytes) &&
	       (out->gnu_hash || out->sysv_hash);
}

uint32_t gp_elf_hash(const char *name)
{
	uint32_t hash = 5381;
	for (const char *c = name; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	return hash;
}

static const char *text_at(const struct gp_elf_tables *t, size_t offset)
{
	const char *text = t->strings + offset;
	const size_t most = offset < t->strings_bytes ? t->strings_bytes - offset : 0;
	return most && memchr(text, '\0', most) ? text : NULL;
}

/* Own loops here and below instead of libc calls: gp_mapped_walk has the reason. */
static bool is_text(const struct gp_elf_tables *t, size_t offset, const char *name)
{
	for (; offset < t->strings_bytes && t->strings[offset] == *name; offset++, name++)
		if (!*name)
			return true;
	return false;
}

static bool is_kind(const ElfW(Sym) * s, enum gp_elf_kind kind)
{
	const unsigned type = ELF64_ST_TYPE(s->st_info);
	const bool is_function = type == STT_FUNC || type == STT_NOTYPE;
	return (is_function && kind != GP_ELF_DATA) ||
	       (type == STT_OBJECT && kind != GP_ELF_FUNCTION);
}

static bool is_hidden(const struct gp_elf_tables *t, uint32_t index)
{
	if (!t->versions || !gp_elf_is_mapped(t->object, &t->versions[index], sizeof(ElfW(Half))))
		return false;
	const unsigned version = t->versions[index];
	return version & HIDDEN_VERSION && (version & ~HIDDEN_VERSION) > LAST_BASE_VERSION;
}

/* The address of symbol number `index` if it defines that name with that kind. */
static void *defined(const struct gp_elf_tables *t, enum gp_elf_kind kind, uint32_t index,
		     const char *name, size_t *bytes)
{
	const ElfW(Sym) *s = &t->symbols[index];
	if (!gp_elf_is_mapped(t->object, s, sizeof *s) || s->st_shndx == SHN_UNDEF ||
	    s->st_value == 0 || !is_text(t, s->st_name, name))
		return NULL;
	const unsigned binding = ELF64_ST_BIND(s->st_info);
	if (!is_kind(s, kind) ||
	    (binding != STB_GLOBAL && binding != STB_WEAK && binding != STB_GNU_UNIQUE))
		return NULL;
	if (is_hidden(t, index))
		return NULL;
	if (bytes)
		*bytes = s->st_size;
	return (void *)(t->object->dlpi_addr + s->st_value);
}

/* False: the object certainly does not define a name with this hash. */
static bool may_define(const struct gp_elf_tables *t, uint32_t hash)
{
	const uint32_t words = t->gnu_hash[2], shift = t->gnu_hash[3];
	const ElfW(Addr) *bloom = (const ElfW(Addr) *)(const void *)(t->gnu_hash + 4);
	const unsigned bits = 8 * sizeof *bloom;
	if (words == 0)
		return false;
	const ElfW(Addr) *word = &bloom[hash / bits & (words - 1)];
	if (!gp_elf_is_mapped(t->object, word, sizeof *word))
		return false;
	return *word >> (hash % bits) & *word >> (hash >> shift) % bits & 1;
}

static void *find_gnu(const struct gp_elf_tables *t, enum gp_elf_kind kind, const char *name,
		      uint32_t hash, size_t *bytes)
{
	const uint32_t buckets = t->gnu_hash[0], first = t->gnu_hash[1], words = t->gnu_hash[2];
	if (buckets == 0 || !may_define(t, hash))
		return NULL;
	const uint32_t *bucket =
		(const uint32_t *)((const ElfW(Addr) *)(const void *)(t->gnu_hash + 4) + words);
	if (!gp_elf_is_mapped(t->object, bucket, buckets * sizeof *bucket))
		return NULL;
	const uint32_t *chain = bucket + buckets;
	for (uint32_t i = bucket[hash % buckets]; i >= first; i++) {
		const uint32_t *link = &chain[i - first];
		if (!gp_elf_is_mapped(t->object, link, sizeof *link))
			return NULL;
		void *found = (*link | 1) == (hash | 1) ? defined(t, kind, i, name, bytes) : NULL;
		if (found || *link & 1)
			return found;
	}
	return NULL;
}

static void *find_sysv(const struct gp_elf_tables *t, enum gp_elf_kind kind, const char *name,
		       size_t *bytes)
{
	uint32_t hash = 0;
	for (const char *c = name; *c; c++) {
		hash = (hash << 4) + (unsigned char)*c;
		hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
	}
	const uint32_t buckets = t->sysv_hash[0], chains = t->sysv_hash[1];
	const uint32_t *bucket = t->sysv_hash + 2, *chain = bucket + buckets;
	if (buckets == 0 ||
	    !gp_elf_is_mapped(t->object, bucket, ((size_t)buckets + chains) * sizeof *bucket))
		return NULL;
	uint32_t left = chains; /* a damaged chain may be circular */
	for (uint32_t i = bucket[hash % buckets]; i && i < chains && left; i = chain[i], left--) {
		void *found = defined(t, kind, i, name, bytes);
		if (found)
			return found;
	}
	return NULL;
}

void *gp_elf_find_symbol(const struct gp_elf_tables *tables, enum gp_elf_kind kind,
			 const char *name, uint32_t hash, size_t *bytes)
{
	return tables->gnu_hash ? find_gnu(tables, kind, name, hash, bytes) :
				  find_sysv(tables, kind, name, bytes);
}

const char *gp_elf_file_name(const struct dl_phdr_info *object)
{
	const char *path = object->dlpi_name ? object->dlpi_name : "", *name = path;
	for (; *path; path++)
		name = *path == '/' ? path + 1 : name;
	return name;
}

bool gp_elf_is_named(const struct gp_elf_tables *tables, const char *name)
{
	for (const ElfW(Dyn) *d = tables->dynamic; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_SONAME) {
			const char *own = text_at(tables, d->d_un.d_val);
			if (own && strcmp(own, name) == 0)
				return true;
		}
	return strcmp(gp_elf_file_name(tables->object), name) == 0;
}

const char *gp_elf_needed(const struct gp_elf_tables *tables, unsigned index)
{
	for (const ElfW(Dyn) *d = tables->dynamic; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_NEEDED && index-- == 0)
			return text_at(tables, d->d_un.d_val);
	return NULL;
}
