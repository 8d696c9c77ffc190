/*
 * Reads only the headers of an ELF file. Checks that it is a shared object for this machine, and as
 * long as its segments. The loader checks the rest.
 */
#include "library_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../io/message.h"

static bool read_header(const char *path, int *fd, ElfW(Ehdr) * header)
{
	*fd = open(path, O_RDONLY | O_CLOEXEC);
	if (*fd < 0)
		return false;
	errno = 0;
	return pread(*fd, header, sizeof *header, 0) == (ssize_t)sizeof *header;
}

static bool is_of_this_machine(const ElfW(Ehdr) * header)
{
	ElfW(Ehdr) own;
	int fd;
	bool is_read = read_header("/proc/self/exe", &fd, &own);
	if (fd >= 0)
		close(fd);
	return !is_read || (header->e_ident[EI_CLASS] == own.e_ident[EI_CLASS] &&
			    header->e_ident[EI_DATA] == own.e_ident[EI_DATA] &&
			    header->e_machine == own.e_machine);
}

static bool has_all_segments(int fd, const ElfW(Ehdr) * header)
{
	struct stat st;
	if (fstat(fd, &st) != 0 || header->e_phentsize != sizeof(ElfW(Phdr)))
		return false;
	uint64_t bytes = (uint64_t)st.st_size;
	for (unsigned k = 0; k < header->e_phnum; k++) {
		ElfW(Phdr) segment;
		off_t at = (off_t)(header->e_phoff + k * sizeof segment);
		if (pread(fd, &segment, sizeof segment, at) != (ssize_t)sizeof segment)
			return false;
		if (segment.p_type == PT_LOAD &&
		    (segment.p_offset > bytes || segment.p_filesz > bytes - segment.p_offset))
			return false;
	}
	return true;
}

const char *gp_library_flaw(const char *path)
{
	ElfW(Ehdr) header;
	int fd;
	const char *flaw = NULL;
	if (!read_header(path, &fd, &header))
		flaw = errno ? gp_cause(errno) : "it is not a library";
	else if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
		flaw = "it is not a library";
	else if (!is_of_this_machine(&header))
		flaw = "it is made for another machine";
	else if (header.e_type != ET_DYN)
		flaw = "it is not a library";
	else if (!has_all_segments(fd, &header))
		flaw = "it ends too early";
	if (fd >= 0)
		close(fd);
	return flaw;
}
