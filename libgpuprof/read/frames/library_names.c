/* A folder's name says nothing of what lies deep in it: only a package's own does. */
#include "library_names.h"

#include <stddef.h>
#include <string.h>

#include "name_text.h"

struct rule {
	const char *text, *name;
};

#define LIBRARY(start, name) { start, name },
static const struct rule libraries[] = {
#include "frame_names.def"
};
#define LIBRARY_PACKAGE(folders, name) { folders, name },
static const struct rule packages[] = {
#include "frame_names.def"
};
#define LIBRARY_MADE(part, name) { part, name },
static const struct rule made[] = {
#include "frame_names.def"
};
#define PYTHON_PACKAGE(folders, name) { folders, name },
static const struct rule python_packages[] = {
#include "frame_names.def"
};

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

const char *gp_package_of(const char *path)
{
	static const char folder[] = "-packages/";
	const char *package = NULL;
	while ((path = strstr(path, folder)) != NULL)
		package = path += sizeof folder - 1;
	return package;
}

bool gp_path_begins(const char *path, const char *folders)
{
	const size_t n = strlen(folders);
	if (n > 0 && folders[n - 1] == '*')
		return strncmp(path, folders, n - 1) == 0;
	return strncmp(path, folders, n) == 0 && path[n] == '/';
}

/* Built where its source is: .../vllm/_C.abi3.so. */
static bool is_held_by(const char *path, const char *folder)
{
	const char *slash = strrchr(path, '/');
	const size_t n = strlen(folder);
	return slash != NULL && (size_t)(slash - path) > n && slash[-(ptrdiff_t)n - 1] == '/' &&
	       strncmp(slash - n, folder, n) == 0;
}

static const char *by_package(const char *package, const struct rule *rule, size_t rules)
{
	for (size_t i = 0; package != NULL && i < rules; i++)
		if (gp_path_begins(package, rule[i].text))
			return rule[i].name;
	return NULL;
}

/* libmpi.so.40, libmpi_cxx.so, libcudnn-3b81d170.so; not libmpicustom.so. */
static bool is_called(const char *file, const char *start)
{
	const size_t n = strlen(start);
	if (n > 0 && start[n - 1] == '*')
		return strncmp(file, start, n - 1) == 0;
	return strncmp(file, start, n) == 0 &&
	       (strchr("._-", start[n - 1]) != NULL || file[n] == '\0' ||
		strchr("._-+0123456789", file[n]) != NULL);
}

const char *gp_library_of(const char *module)
{
	const char *package = gp_package_of(module);
	for (size_t i = 0; i < COUNT(libraries); i++)
		if (is_called(file_of(module), libraries[i].text))
			return libraries[i].name;
	for (size_t i = 0; i < COUNT(made); i++)
		if (strstr(package != NULL ? package : module, made[i].text) != NULL)
			return made[i].name;
	if (package != NULL)
		return by_package(package, packages, COUNT(packages));
	for (size_t i = 0; i < COUNT(packages); i++)
		if (is_held_by(module, packages[i].text))
			return packages[i].name;
	return NULL;
}

void gp_library_by_file(const char *module, char *out)
{
	const char *file = file_of(module), *package = gp_package_of(module);
	const size_t bytes = package != NULL ? strcspn(package, "/") : 0;
	if (package != NULL && package[bytes] == '/')
		write_name(out, "", package, bytes);
	else
		write_name(out, "", file, strcspn(file, "."));
}

const char *gp_python_library_of(const char *file)
{
	return by_package(gp_package_of(file), python_packages, COUNT(python_packages));
}
