/* Matches the rows of frame_names.def with frames. */
#include "frame_names.h"

#include <ctype.h>

#include "library_names.h"
#include "name_rules.h"
#include "name_text.h"

static bool read_collective(const char *function, char *out)
{
	size_t bytes = 0;
	while (!ends_name(function + bytes))
		bytes++;
	/* pncclAllReduce is libnccl's own entry, which a profiler's wrapper calls */
	const char *name = starts(function, "pnccl") ? function + 1 : function;
	bytes -= (size_t)(name - function);
	for (const struct gp_name_rule *r = gp_rules_of(GP_RULE_COLLECTIVE);
	     r->kind == GP_RULE_COLLECTIVE; r++)
		if (starts(name, r->text) && strlen(r->text) == bytes)
			return write_name(out, "", name, bytes);
	return false;
}

/* Where the name of the node ends, template arguments included; NULL: it is not a node. */
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
	for (const struct gp_name_rule *r = gp_rules_of(GP_RULE_NODE_SPACE);
	     r->kind == GP_RULE_NODE_SPACE; r++) {
		if (!starts(function, r->text))
			continue;
		const char *name = function + strlen(r->text);
		const char *end = end_of_node(name);
		if (end == NULL)
			continue;
		if (!write_name(out, "", name, (size_t)(end - name)))
			return false;
		if (gp_rule_fitting(GP_RULE_NOT_NODE, out) == NULL)
			return true;
		out[0] = 0;
	}
	return false;
}

/* Writes the name of the first row that fits. */
static bool read_rule(const char *function, enum gp_rule_kind kind, char *out)
{
	const struct gp_name_rule *rule = gp_rule_fitting(kind, function);
	return rule != NULL && write_name(out, "", rule->name, strlen(rule->name));
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
	if (gp_operator_called(function, name, &is_allocation))
		return is_allocation ? GP_ROLE_ALLOCATION : GP_ROLE_OPERATOR;
	if (read_node(function, name))
		return GP_ROLE_NODE;
	if (read_rule(function, GP_RULE_ENGINE_STEP, name))
		return GP_ROLE_NODE;
	if (read_rule(function, GP_RULE_KNOWN, name) ||
	    gp_cython_name(function, frame->module, name))
		return GP_ROLE_OTHER;
	if (gp_rule_fitting(GP_RULE_ENGINE, function) == NULL)
		return GP_ROLE_OTHER;
	snprintf(name, GP_NAME_MAX, "autograd engine");
	return GP_ROLE_ENGINE;
}

/* The names in the frames from the allocation to the first frame of Python or of autograd. */
struct stretch {
	char operator[GP_NAME_MAX]; /* the innermost that does more than get memory */
	char outer[GP_NAME_MAX];    /* the outermost of all */
	char kernel[GP_NAME_MAX], kernel_allocation[GP_NAME_MAX];
	char collective[GP_NAME_MAX];
	char known[GP_NAME_MAX];
};

static void keep_first(char *kept, const char *name)
{
	if (kept[0] == 0)
		memcpy(kept, name, GP_NAME_MAX);
}

/* False: the stretch ends before this frame. */
static bool read_stretch(const struct gp_name_frame *frame, struct stretch *s)
{
	char name[GP_NAME_MAX], cython[GP_NAME_MAX];
	bool is_allocation;
	enum gp_frame_role role = gp_frame_role(frame, name);
	if (role == GP_ROLE_OPERATOR)
		keep_first(s->operator, name);
	if (role == GP_ROLE_OPERATOR || role == GP_ROLE_ALLOCATION)
		memcpy(s->outer, name, sizeof name);
	else if (role != GP_ROLE_OTHER)
		return false;
	else if (frame->function == NULL || gp_cython_name(frame->function, frame->module, cython))
		return true;
	else if (name[0] != 0)
		keep_first(s->known, name);
	else if (gp_operator_of_kernel(frame->function, name, &is_allocation))
		keep_first(is_allocation ? s->kernel_allocation : s->kernel, name);
	else if (read_collective(frame->function, name))
		keep_first(s->collective, name);
	return true;
}

/* The first row of that kind that fits the frame; NULL: none fits, or it is not a Python frame. */
static const struct gp_name_rule *fitting_python(const struct gp_name_frame *f,
						 enum gp_rule_kind kind)
{
	if (!f->is_python || f->function == NULL || f->file == NULL)
		return NULL;
	for (const struct gp_name_rule *r = gp_rules_of(kind); r->kind == kind; r++)
		if (strstr(f->file, r->part) != NULL && fits(f->function, r->text))
			return r;
	return NULL;
}

/*
 * The outermost function that Cython made, up to the first frame that Python evaluates. Frames of
 * the interpreter may lie between.
 */
static void find_cython(const struct gp_name_frame *frame, size_t count, char *out)
{
	char name[GP_NAME_MAX];
	for (size_t i = 0; i < count && !frame[i].is_python; i++) {
		const char *function = frame[i].function;
		if (function != NULL && starts(function, "_PyEval_"))
			break;
		if (function != NULL && gp_cython_name(function, frame[i].module, name))
			memcpy(out, name, sizeof name);
	}
}

/* The operator that the user's code called. Names of operators that only get memory come last. */
static void find_operator(const struct gp_name_frame *frame, size_t count, struct gp_names *out)
{
	struct stretch s = { 0 };
	size_t i = 0;
	while (i < count && read_stretch(&frame[i], &s))
		i++;
	while (i < count && !frame[i].is_python &&
	       gp_frame_is_interpreter(frame[i].function, frame[i].module))
		i++;
	const struct gp_name_rule *known =
		i < count ? fitting_python(&frame[i], GP_RULE_KNOWN_PYTHON) : NULL;
	const char *python = known != NULL ? known->name : "";
	const char *const best[] = { s.operator, s.kernel, s.collective, s.known, python, s.outer,
				     s.kernel_allocation };
	for (size_t r = 0; r < sizeof best / sizeof *best && out->operator[0] == 0; r++)
		write_name(out->operator, "", best[r], strlen(best[r]));
	if (out->operator[0] == 0)
		find_cython(frame, count, out->operator);
	if (s.operator[0] != 0 && strcmp(s.operator, s.outer) != 0)
		memcpy(out->outer_operator, s.outer, sizeof s.outer);
}

#define WRAPPED_MAX 4u /* most Python frames of decorators around a backward, with the backward */

/* "make.<locals>.Twice.backward" gives "TwiceBackward"; false: it is not a backward method */
static bool write_class(const char *function, char *out)
{
	static const char *const method[] = { ".backward", ".vjp" };
	size_t bytes = strlen(function);
	for (size_t i = 0; i < sizeof method / sizeof *method; i++) {
		size_t n = strlen(method[i]);
		if (bytes <= n || strcmp(function + bytes - n, method[i]) != 0)
			continue;
		const char *start = function + bytes - n;
		while (start > function && start[-1] != '.')
			start--;
		char name[GP_NAME_MAX];
		return write_name(name, "", start, (size_t)(function + bytes - n - start)) &&
		       snprintf(out, GP_NAME_MAX, "%sBackward", name) < (int)GP_NAME_MAX;
	}
	return false;
}

/*
 * A node written in Python gets the name of the class whose backward PyTorch runs. That backward is
 * among the next frames inward of the frame that calls it.
 */
static void name_python_node(const struct gp_name_frame *frame, size_t at, char *out)
{
	unsigned seen = 0;
	for (size_t i = at; i-- > 0 && seen < WRAPPED_MAX;) {
		const struct gp_name_frame *f = &frame[i];
		if (!f->is_python && !gp_frame_is_interpreter(f->function, f->module))
			break;
		if (!f->is_python)
			continue;
		if (f->function != NULL && write_class(f->function, out))
			return;
		seen++;
	}
	write_name(out, "", "PyNode", strlen("PyNode"));
}

/*
 * The innermost node or step of the engine. The absence of a node is certain only if all frames
 * have names.
 */
static void find_node(const struct gp_name_frame *frame, size_t count, struct gp_names *out)
{
	bool has_native = false, is_sure = true;
	for (size_t i = 0; i < count; i++) {
		enum gp_frame_role role = gp_frame_role(&frame[i], out->node);
		if (role == GP_ROLE_NODE || role == GP_ROLE_ENGINE)
			return;
		if (fitting_python(&frame[i], GP_RULE_PYTHON_NODE) != NULL) {
			name_python_node(frame, i, out->node);
			return;
		}
		const char *module = frame[i].module, *library;
		has_native |= role != GP_ROLE_PYTHON;
		if (role != GP_ROLE_OTHER || frame[i].function != NULL)
			continue;
		library = module != NULL ? gp_library_of(module) : NULL;
		is_sure &= module != NULL && (library == NULL || strcmp(library, "PyTorch") != 0);
	}
	out->node[0] = 0;
	out->is_outside_backward = has_native && is_sure;
}

/*
 * Finds the first frame of Python, and any frame that calls the engine. A frame without a name may
 * call it too.
 */
static void find_engine_calls(const struct gp_name_frame *frame, size_t count, struct gp_names *out)
{
	const struct gp_name_frame *outermost = NULL;
	bool has_call = false;
	for (size_t i = 0; i < count; i++) {
		const struct gp_name_frame *f = &frame[i];
		if (!f->is_python)
			continue;
		outermost = f;
		has_call |= f->function == NULL || f->file == NULL ||
			    fitting_python(f, GP_RULE_PYTHON_ENGINE) != NULL;
	}
	out->has_no_engine_call = outermost != NULL && !has_call &&
				  fitting_python(outermost, GP_RULE_PYTHON_BEGINNING) != NULL;
}

/* Up to the first Python frame: finds calls that get memory for the workspace of a library. */
static void find_workspace(const struct gp_name_frame *frame, size_t count, struct gp_names *out)
{
	for (size_t i = 0; i < count && !frame[i].is_python && out->workspace[0] == 0; i++)
		if (frame[i].function != NULL)
			read_rule(frame[i].function, GP_RULE_WORKSPACE, out->workspace);
}

/* False: it belongs to no library. */
static bool name_python(const struct gp_name_frame *frame, size_t count, char *out)
{
	for (size_t i = 0; i < count; i++) {
		if (!frame[i].is_python)
			continue;
		const char *name =
			frame[i].file != NULL ? gp_python_library_of(frame[i].file) : NULL;
		if (name != NULL) {
			write_name(out, "", name, strlen(name));
			return true;
		}
		/* ctypes itself is not a library */
		if (frame[i].file == NULL || strstr(frame[i].file, "/ctypes/") == NULL)
			break;
	}
	write_name(out, "", "Python", strlen("Python"));
	return false;
}

static bool is_passed(const char *module)
{
	return module != NULL && gp_rule_begins(GP_RULE_PASSED, file_of(module));
}

static bool is_same_module(const struct gp_name_frame *f, const char *module)
{
	return !f->is_python && f->module != NULL && strcmp(f->module, module) == 0;
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
		out->is_own = !name_python(frame + i, count - i, out->library);
		return;
	}
	/* code outside of all modules, or a walk that went wrong */
	if (module == NULL)
		return;
	bool has_useful = false;
	for (size_t k = i; k < count && is_same_module(&frame[k], module); k++) {
		bool is_useful = frame[k].function != NULL && !gp_frame_is_folded(&frame[k]);
		if (is_useful || (frame[k].function != NULL && !has_useful))
			out->caller = k;
		has_useful |= is_useful;
	}
	const char *name = gp_library_of(module);
	out->is_own = name == NULL && program != NULL && strcmp(program, module) == 0;
	if (name != NULL)
		write_name(out->library, "", name, strlen(name));
	else if (out->is_own)
		write_name(out->library, "", file_of(module), strlen(file_of(module)));
	else
		gp_library_by_file(module, out->library);
}

/* .../torchinductor_USER/ab/cabxyz.py; the first folder's name alone proves nothing */
static bool is_inductors(const char *file)
{
	const char *cache = strstr(file, "/torchinductor_");
	const char *part = cache != NULL ? strchr(cache + 1, '/') : NULL;
	return part != NULL && (strcspn(part + 1, "/") == 2 || starts(part, "/triton/")) &&
	       strchr(part + 1, '/') != NULL;
}

static bool has_part(const char *file, enum gp_rule_kind kind)
{
	const struct gp_name_rule *r = gp_rules_of(kind);
	while (r->kind == kind && strstr(file, r->text) == NULL)
		r++;
	return r->kind == kind;
}

/* 2: the user's own file; 1: of an installed package; 0: of the interpreter or PyTorch. */
static unsigned rank_of(const char *file)
{
	if (file == NULL)
		return 0;
	const char *package = gp_package_of(file);
	for (const struct gp_name_rule *r = gp_rules_of(GP_RULE_SYSTEM_PACKAGE);
	     package != NULL && r->kind == GP_RULE_SYSTEM_PACKAGE; r++)
		if (gp_path_begins(package, r->text))
			return 0;
	if (package != NULL)
		return 1;
	if (is_inductors(file))
		return 0;
	if (has_part(file, GP_RULE_PYTHON_FOREIGN))
		return 1;
	return has_part(file, GP_RULE_PYTHON_SYSTEM) ? 0 : 2;
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
	find_workspace(frame, count, out);
	gp_modules_of(frame, count, out->modules);
}

bool gp_frame_is_folded(const struct gp_name_frame *f)
{
	char name[GP_NAME_MAX];
	if (f->is_python)
		return fitting_python(f, GP_RULE_FOLDED_PYTHON) != NULL;
	const char *file = f->module != NULL ? file_of(f->module) : "";
	if (is_passed(f->module))
		return true;
	if (f->function == NULL)
		return gp_rule_begins(GP_RULE_STRIPPED, file) ||
		       gp_rule_begins(GP_RULE_FOLDED_MODULE, file);
	if (gp_rule_begins(GP_RULE_FOLDED_MODULE, file))
		return !read_collective(f->function, name);
	return gp_rule_fitting(GP_RULE_FOLDED, f->function) != NULL;
}

static bool is_interpreter_file(const char *module)
{
	const char *file = file_of(module);
	for (const struct gp_name_rule *r = gp_rules_of(GP_RULE_INTERPRETER_FILE);
	     r->kind == GP_RULE_INTERPRETER_FILE; r++) {
		if (!starts(file, r->text))
			continue;
		/* python3.12, libpython3.12.so.1.0, libpython3.7m.so; not python3-config-gpu */
		const char *rest = file + strlen(r->text);
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
	return gp_rule_fitting(GP_RULE_INTERPRETER, function) != NULL ||
	       (module == NULL && gp_rule_fitting(GP_RULE_INTERPRETER_LOCAL, function) != NULL);
}
