/* The rules are rows of frame_names.def; here is how a row is held against a frame. */
#include "frame_names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

struct rule {
	const char *text, *name;
};

#define ALLOCATION(name) name,
static const char *const allocations[] = {
#include "frame_names.def"
};
#define SPLIT(base, overload) { #base "_" #overload, sizeof #base - 1 },
static const struct split {
	const char *whole;
	size_t at;
} splits[] = {
#include "frame_names.def"
};
#define OVERLOAD(text) #text,
static const char *const overloads[] = {
#include "frame_names.def"
};
#define NOT_OVERLOAD(text) #text,
static const char *const not_overloads[] = {
#include "frame_names.def"
};
#define COLLECTIVE(function) #function,
static const char *const collectives[] = {
#include "frame_names.def"
};
#define NODE_SPACE(space) space,
static const char *const node_spaces[] = {
#include "frame_names.def"
};
#define NOT_NODE(name) name,
static const char *const not_nodes[] = {
#include "frame_names.def"
};
#define ENGINE(function) function,
static const char *const engines[] = {
#include "frame_names.def"
};
#define ENGINE_STEP(function, name) { function, name },
static const struct rule engine_steps[] = {
#include "frame_names.def"
};
#define PASSED(name) name,
static const char *const passed[] = {
#include "frame_names.def"
};
#define LIBRARY_FOLDER(part, name) { part, name },
static const struct rule library_folders[] = {
#include "frame_names.def"
};
#define LIBRARY(start, name) { start, name },
static const struct rule libraries[] = {
#include "frame_names.def"
};
#define PYTHON_FOLDER(part, name) { part, name },
static const struct rule python_folders[] = {
#include "frame_names.def"
};
struct origin {
	const char *part;
	bool is_foreign;
};
#define PYTHON_FOREIGN(part) { part, true },
#define PYTHON_SYSTEM(part) { part, false },
static const struct origin origins[] = {
#include "frame_names.def"
};
#define INTERPRETER_FILE(name) name,
static const char *const interpreter_files[] = {
#include "frame_names.def"
};
#define INTERPRETER(function) function,
static const char *const interpreters[] = {
#include "frame_names.def"
};
#define INTERPRETER_LOCAL(function) function,
static const char *const interpreter_locals[] = {
#include "frame_names.def"
};
#define KNOWN(function, name) { function, name },
static const struct rule known[] = {
#include "frame_names.def"
};
#define FOLDED(function) function,
static const char *const folded[] = {
#include "frame_names.def"
};
#define FOLDED_MODULE(start) start,
static const char *const folded_modules[] = {
#include "frame_names.def"
};
#define FOLDED_PYTHON(part, function) { part, function },
static const struct rule folded_python[] = {
#include "frame_names.def"
};

#define PYTHON_BEGINNING(part, function) { part, function },
static const struct rule python_beginnings[] = {
#include "frame_names.def"
};
#define PYTHON_ENGINE(part, function) { part, function },
static const struct rule python_engines[] = {
#include "frame_names.def"
};

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static bool starts(const char *text, const char *with)
{
	return *text == *with && strncmp(text, with, strlen(with)) == 0;
}

/* A pattern with a star fits what begins as it does before the star and ends as it does after. */
static bool fits(const char *text, const char *pattern)
{
	if (*pattern != *text && *pattern != '*') /* most do not: frames are many */
		return false;
	const char *star = strchr(pattern, '*');
	if (star == NULL)
		return strcmp(text, pattern) == 0;
	size_t bytes = strlen(text), before = (size_t)(star - pattern), after = strlen(star + 1);
	return bytes >= before + after && memcmp(text, pattern, before) == 0 &&
	       memcmp(text + bytes - after, star + 1, after) == 0;
}

static bool fits_any(const char *text, const char *const *pattern, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (fits(text, pattern[i]))
			return true;
	}
	return false;
}

static bool starts_any(const char *text, const char *const *with, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (starts(text, with[i]))
			return true;
	}
	return false;
}

/* Of a Python frame: a part of its path, and its function. */
static bool fits_place(const struct gp_name_frame *f, const struct rule *rule, size_t rules)
{
	for (size_t i = 0; f->function != NULL && f->file != NULL && i < rules; i++) {
		if (strstr(f->file, rule[i].text) != NULL && fits(f->function, rule[i].name))
			return true;
	}
	return false;
}

static const char *file_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash != NULL ? slash + 1 : path;
}

/* Where a function's name ends: parameters, or what a compiler adds to a part of it. */
static bool ends_name(const char *at)
{
	return *at == 0 || *at == '(' || *at == ' ' || *at == '[';
}

static size_t longest_ending(const char *name, size_t bytes, const char *const *ending,
			     size_t count)
{
	size_t longest = 0;
	for (size_t i = 0; i < count; i++) {
		size_t n = strlen(ending[i]);
		if (n > longest && n + 1 < bytes && name[bytes - n - 1] == '_' &&
		    memcmp(name + bytes - n, ending[i], n) == 0)
			longest = n;
	}
	return longest;
}

static bool write_name(char *out, const char *start, const char *name, size_t bytes)
{
	int n = snprintf(out, GP_NAME_MAX, "%s%.*s", start, (int)bytes, name);
	if (n > 0 && (size_t)n < GP_NAME_MAX)
		return true;
	out[0] = 0;
	return false;
}

/* Where NAME and its overload part; 0: nowhere. */
static size_t split_of(const char *name, size_t bytes)
{
	for (size_t i = 0; i < COUNT(splits); i++) {
		if (strlen(splits[i].whole) == bytes && memcmp(splits[i].whole, name, bytes) == 0)
			return splits[i].at;
	}
	size_t overload = longest_ending(name, bytes, overloads, COUNT(overloads));
	bool is_one = overload > longest_ending(name, bytes, not_overloads, COUNT(not_overloads));
	return is_one ? bytes - overload - 1 : 0;
}

/* at::_ops::NAME::call or ::redispatch, without the boxed and typed forms around them */
static bool read_operator(const char *function, char *out, bool *is_allocation)
{
	static const char space[] = "at::_ops::";
	if (!starts(function, space))
		return false;
	const char *name = function + sizeof space - 1, *end = name;
	while (isalnum((unsigned char)*end) || *end == '_')
		end++;
	size_t bytes = (size_t)(end - name);
	bool is_call = starts(end, "::call") && ends_name(end + strlen("::call"));
	bool is_again = starts(end, "::redispatch") && ends_name(end + strlen("::redispatch"));
	if (bytes == 0 || (!is_call && !is_again) || !write_name(out, "", name, bytes))
		return false;
	*is_allocation = fits_any(out, allocations, COUNT(allocations));
	size_t split = split_of(name, bytes);
	if (!write_name(out, "aten::", name, bytes))
		return false;
	if (split != 0)
		out[strlen("aten::") + split] = '.';
	return true;
}

static bool read_collective(const char *function, char *out)
{
	size_t bytes = 0;
	while (!ends_name(function + bytes))
		bytes++;
	/* libnccl's own entry behind a profiler's: pncclAllReduce */
	const char *name = function[0] == 'p' ? function + 1 : function;
	bytes -= (size_t)(name - function);
	for (size_t i = 0; i < COUNT(collectives); i++) {
		if (strlen(collectives[i]) == bytes && memcmp(collectives[i], name, bytes) == 0)
			return write_name(out, "", name, bytes);
	}
	return false;
}

/* NULL: no node; else where its name ends. Template arguments belong to it. */
static const char *end_of_node(const char *name)
{
	const char *at = name;
	unsigned depth = 0;
	if (!isalpha((unsigned char)*at))
		return NULL;
	for (; *at != 0 && (depth != 0 || isalnum((unsigned char)*at) || strchr("_<", *at)); at++) {
		depth += *at == '<';
		depth -= *at == '>';
	}
	return starts(at, "::apply") && ends_name(at + strlen("::apply")) ? at : NULL;
}

static bool read_node(const char *function, char *out)
{
	for (size_t i = 0; i < COUNT(node_spaces); i++) {
		if (!starts(function, node_spaces[i]))
			continue;
		const char *name = function + strlen(node_spaces[i]);
		const char *end = end_of_node(name);
		if (end == NULL)
			continue;
		if (!write_name(out, "", name, (size_t)(end - name)))
			return false;
		if (!fits_any(out, not_nodes, COUNT(not_nodes)))
			return true;
		out[0] = 0;
	}
	return false;
}

/* The name of the first row that fits. */
static bool read_rule(const char *function, const struct rule *rule, size_t rules, char *out)
{
	for (size_t i = 0; i < rules; i++) {
		if (fits(function, rule[i].text))
			return write_name(out, "", rule[i].name, strlen(rule[i].name));
	}
	return false;
}

enum gp_frame_role gp_frame_role(const struct gp_name_frame *frame, char *name)
{
	const char *function = frame->function;
	bool is_allocation;
	name[0] = 0;
	if (frame->is_python)
		return GP_ROLE_PYTHON;
	if (gp_frame_is_interpreter(function, frame->module))
		return GP_ROLE_INTERPRETER;
	if (function == NULL)
		return GP_ROLE_OTHER;
	if (read_operator(function, name, &is_allocation))
		return is_allocation ? GP_ROLE_ALLOCATION : GP_ROLE_OPERATOR;
	if (read_node(function, name))
		return GP_ROLE_NODE;
	if (read_rule(function, engine_steps, COUNT(engine_steps), name))
		return GP_ROLE_NODE;
	if (read_rule(function, known, COUNT(known), name))
		return GP_ROLE_OTHER;
	if (!fits_any(function, engines, COUNT(engines)))
		return GP_ROLE_OTHER;
	snprintf(name, GP_NAME_MAX, "autograd engine");
	return GP_ROLE_ENGINE;
}

/* The innermost that does more than get memory, and the outermost of the stretch. */
static void find_operator(const struct gp_name_frame *frame, size_t count, struct gp_names *out)
{
	char name[GP_NAME_MAX], collective[GP_NAME_MAX] = "";
	for (size_t i = 0; i < count; i++) {
		enum gp_frame_role role = gp_frame_role(&frame[i], name);
		if (role == GP_ROLE_OPERATOR && out->operator[0] == 0)
			memcpy(out->operator, name, sizeof name);
		if (role == GP_ROLE_OPERATOR || role == GP_ROLE_ALLOCATION)
			memcpy(out->outer_operator, name, sizeof name);
		else if (role != GP_ROLE_OTHER)
			break;
		else if (frame[i].function != NULL && collective[0] == 0)
			read_collective(frame[i].function, collective);
	}
	if (out->operator[0] == 0)
		memcpy(out->operator, out->outer_operator, sizeof out->operator);
	if (strcmp(out->operator, out->outer_operator) == 0)
		out->outer_operator[0] = 0;
	if (out->operator[0] == 0)
		memcpy(out->operator, collective, sizeof collective);
}

static const char *library_of(const char *module);

/* The innermost node or step of the engine; that there is none is sure where all have names. */
static void find_node(const struct gp_name_frame *frame, size_t count, struct gp_names *out)
{
	bool has_native = false, is_sure = true;
	for (size_t i = 0; i < count; i++) {
		enum gp_frame_role role = gp_frame_role(&frame[i], out->node);
		if (role == GP_ROLE_NODE || role == GP_ROLE_ENGINE)
			return;
		const char *module = frame[i].module, *library;
		has_native |= role != GP_ROLE_PYTHON;
		if (role != GP_ROLE_OTHER || frame[i].function != NULL)
			continue;
		library = module != NULL ? library_of(module) : NULL;
		is_sure &= module != NULL && (library == NULL || strcmp(library, "PyTorch") != 0);
	}
	out->node[0] = 0;
	out->is_outside_backward = has_native && is_sure;
}

static void find_engine_calls(const struct gp_name_frame *frame, size_t count, struct gp_names *out)
{
	const struct gp_name_frame *outermost = NULL;
	bool has_call = false;
	for (size_t i = 0; i < count; i++) {
		if (!frame[i].is_python)
			continue;
		outermost = &frame[i];
		has_call |= fits_place(outermost, python_engines, COUNT(python_engines));
	}
	out->has_no_engine_call =
		outermost != NULL && !has_call &&
		fits_place(outermost, python_beginnings, COUNT(python_beginnings));
}

static const char *library_of(const char *module)
{
	for (size_t i = 0; i < COUNT(libraries); i++) {
		if (starts(file_of(module), libraries[i].text))
			return libraries[i].name;
	}
	for (size_t i = 0; i < COUNT(library_folders); i++) {
		if (strstr(module, library_folders[i].text) != NULL)
			return library_folders[i].name;
	}
	return NULL;
}

/* site-packages/PACKAGE/..., or the file's name without what follows its first dot */
static void name_by_file(const char *module, char *out)
{
	const char *file = file_of(module);
	const char *package = strstr(module, "-packages/");
	if (package != NULL)
		package += strlen("-packages/");
	size_t bytes = package != NULL ? strcspn(package, "/") : 0;
	if (package != NULL && package[bytes] == '/')
		write_name(out, "", package, bytes);
	else
		write_name(out, "", file, strcspn(file, "."));
}

static void name_python(const struct gp_name_frame *frame, size_t count, char *out)
{
	for (size_t i = 0; i < count; i++) {
		if (!frame[i].is_python)
			continue;
		for (size_t r = 0; frame[i].file != NULL && r < COUNT(python_folders); r++) {
			if (strstr(frame[i].file, python_folders[r].text) != NULL) {
				write_name(out, "", python_folders[r].name,
					   strlen(python_folders[r].name));
				return;
			}
		}
		/* ctypes itself is nobody's library */
		if (frame[i].file == NULL || strstr(frame[i].file, "/ctypes/") == NULL)
			break;
	}
	write_name(out, "", "Python", strlen("Python"));
}

static bool is_passed(const char *module)
{
	return module != NULL && starts_any(file_of(module), passed, COUNT(passed));
}

static void find_library(const struct gp_name_frame *frame, size_t count, const char *program,
			 struct gp_names *out)
{
	size_t i = 0;
	while (i < count && !frame[i].is_python && is_passed(frame[i].module))
		i++;
	if (i == count)
		return;
	out->caller = i;
	const char *module = frame[i].module;
	if (frame[i].is_python || gp_frame_is_interpreter(NULL, module)) {
		name_python(frame + i, count - i, out->library);
		return;
	}
	/* code of no module, or a walk that went astray */
	if (module == NULL)
		return;
	const char *name = library_of(module);
	if (name != NULL)
		write_name(out->library, "", name, strlen(name));
	else if (program != NULL && strcmp(program, module) == 0)
		write_name(out->library, "", file_of(module), strlen(file_of(module)));
	else
		name_by_file(module, out->library);
}

/* The user's own: 2; of an installed package: 1; of the interpreter or PyTorch: 0. */
static unsigned rank_of(const char *file)
{
	if (file == NULL)
		return 0;
	for (size_t i = 0; i < COUNT(origins); i++) {
		if (strstr(file, origins[i].part) != NULL)
			return origins[i].is_foreign ? 1 : 0;
	}
	return 2;
}

bool gp_python_is_user(const char *file)
{
	return rank_of(file) == 2;
}

static void find_user(const struct gp_name_frame *frame, size_t count, const char *program,
		      struct gp_names *out)
{
	unsigned best = 0;
	bool has_python = false;
	for (size_t i = 0; i < count; i++) {
		has_python |= frame[i].is_python;
		unsigned rank = frame[i].is_python ? rank_of(frame[i].file) : 0;
		if (rank > best) {
			best = rank;
			out->user = i;
		}
	}
	for (size_t i = 0; i < count && !has_python && program != NULL; i++) {
		const char *module = frame[i].module;
		if (frame[i].function == NULL || module == NULL || strcmp(module, program) != 0 ||
		    gp_frame_is_interpreter(NULL, module))
			continue;
		out->user = i;
		return;
	}
}

void gp_names_of(const struct gp_name_frame *frame, size_t count, const char *program,
		 struct gp_names *out)
{
	memset(out, 0, sizeof *out);
	out->user = out->caller = SIZE_MAX;
	find_user(frame, count, program, out);
	find_operator(frame, count, out);
	find_node(frame, count, out);
	find_engine_calls(frame, count, out);
	find_library(frame, count, program, out);
}

bool gp_frame_is_folded(const struct gp_name_frame *f)
{
	if (!f->is_python && f->module != NULL &&
	    (is_passed(f->module) ||
	     starts_any(file_of(f->module), folded_modules, COUNT(folded_modules))))
		return true;
	if (!f->is_python)
		return f->function != NULL && fits_any(f->function, folded, COUNT(folded));
	return fits_place(f, folded_python, COUNT(folded_python));
}

static bool is_interpreter_file(const char *module)
{
	const char *file = file_of(module);
	for (size_t i = 0; i < COUNT(interpreter_files); i++) {
		if (!starts(file, interpreter_files[i]))
			continue;
		/* python3.12, libpython3.12.so.1.0, libpython3.7m.so; not python3-config-gpu */
		const char *rest = file + strlen(interpreter_files[i]);
		rest += strspn(rest, ".0123456789dmtu");
		if (*rest == 0 || starts(rest, "so"))
			return true;
	}
	return strcmp(file, "python") == 0;
}

bool gp_frame_is_interpreter(const char *function, const char *module)
{
	if (module != NULL && is_interpreter_file(module))
		return true;
	if (function == NULL)
		return false;
	return fits_any(function, interpreters, COUNT(interpreters)) ||
	       (module == NULL &&
		fits_any(function, interpreter_locals, COUNT(interpreter_locals)));
}
