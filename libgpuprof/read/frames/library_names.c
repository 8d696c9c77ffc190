/* A folder's name does not identify files deep inside it: only a package's own name does. */
#include "library_names.h"

#include <stddef.h>
#include <string.h>

#include "name_rules.h"
#include "name_text.h"

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

/* True for a file that was built where its source is: .../vllm/_C.abi3.so. */
static bool is_held_by(const char *path, const char *folder)
{
	const char *slash = strrchr(path, '/');
	const size_t n = strlen(folder);
	return slash != NULL && (size_t)(slash - path) > n && slash[-(ptrdiff_t)n - 1] == '/' &&
	       strncmp(slash - n, folder, n) == 0;
}

static const char *by_package(const char *package, enum gp_rule_kind kind)
{
	for (const struct gp_name_rule *r = gp_rules_of(kind); package != NULL && r->kind == kind;
	     r++)
		if (gp_path_begins(package, r->text))
			return r->name;
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
	const struct gp_name_rule *r;
	for (r = gp_rules_of(GP_RULE_LIBRARY); r->kind == GP_RULE_LIBRARY; r++)
		if (is_called(file_of(module), r->text))
			return r->name;
	for (r = gp_rules_of(GP_RULE_LIBRARY_MADE); r->kind == GP_RULE_LIBRARY_MADE; r++)
		if (strstr(package != NULL ? package : module, r->text) != NULL)
			return r->name;
	if (package != NULL)
		return by_package(package, GP_RULE_LIBRARY_PACKAGE);
	for (r = gp_rules_of(GP_RULE_LIBRARY_PACKAGE); r->kind == GP_RULE_LIBRARY_PACKAGE; r++)
		if (is_held_by(module, r->text))
			return r->name;
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
	return by_package(gp_package_of(file), GP_RULE_PYTHON_PACKAGE);
}
