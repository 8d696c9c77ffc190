/*
 * Operators of PyTorch, from the names of its generated functions. The rows of frame_names.def
 * separate a name from its overload. Where they do not decide, the name stays whole or is empty:
 * the code never guesses.
 */
#include <ctype.h>

#include "frame_names.h"
#include "name_rules.h"
#include "name_text.h"

static size_t longest_ending(const char *name, size_t bytes, enum gp_rule_kind kind)
{
	size_t longest = 0;
	for (const struct gp_name_rule *r = gp_rules_of(kind); r->kind == kind; r++) {
		size_t n = strlen(r->text);
		if (n > longest && n + 1 < bytes && name[bytes - n - 1] == '_' &&
		    memcmp(name + bytes - n, r->text, n) == 0)
			longest = n;
	}
	return longest;
}

/* The place where NAME and its overload split; 0: none. */
static size_t split_of(const char *name, size_t bytes)
{
	for (const struct gp_name_rule *r = gp_rules_of(GP_RULE_SPLIT); r->kind == GP_RULE_SPLIT;
	     r++) {
		if (!starts(name, r->text))
			continue;
		const size_t base = strlen(r->text), overload = strlen(r->name);
		if (base + 1 + overload == bytes && name[base] == '_' &&
		    memcmp(name + base + 1, r->name, overload) == 0)
			return base;
	}
	size_t overload = longest_ending(name, bytes, GP_RULE_OVERLOAD);
	bool is_one = overload > longest_ending(name, bytes, GP_RULE_NOT_OVERLOAD);
	return is_one ? bytes - overload - 1 : 0;
}

/* "add_Tensor": "aten::add.Tensor" */
static bool write_operator(const char *name, size_t bytes, char *out, bool *is_allocation)
{
	if (bytes == 0 || !write_name(out, "", name, bytes))
		return false;
	*is_allocation = gp_rule_fitting(GP_RULE_ALLOCATION, out) != NULL;
	size_t split = split_of(name, bytes);
	if (!write_name(out, "aten::", name, bytes))
		return false;
	if (split != 0)
		out[strlen("aten::") + split] = '.';
	return true;
}

static size_t word(const char *text)
{
	size_t bytes = 0;
	while (isalnum((unsigned char)text[bytes]) || text[bytes] == '_')
		bytes++;
	return bytes;
}

bool gp_operator_called(const char *function, char *name, bool *is_allocation)
{
	static const char space[] = "at::_ops::";
	if (!starts(function, space))
		return false;
	const char *at = function + sizeof space - 1, *end = at + word(at);
	bool is_call = starts(end, "::call") && ends_name(end + strlen("::call"));
	bool is_again = starts(end, "::redispatch") && ends_name(end + strlen("::redispatch"));
	return (is_call || is_again) && write_operator(at, (size_t)(end - at), name, is_allocation);
}

static bool ends(const char *text, size_t bytes, const char *with)
{
	size_t n = strlen(with);
	return bytes >= n && memcmp(text + bytes - n, with, n) == 0;
}

/*
 * The wrapper of a structured kernel is NAME, "_", overload. If the overload writes to given
 * tensors, NAME has one more _out at its end: addmm_out_out is addmm.out, eye_out_m_out is
 * eye.m_out.
 */
static bool read_structured(const char *at, size_t bytes, char *name, bool *is_allocation)
{
	static const char mark[] = "_out";
	char plain[GP_NAME_MAX];
	if (!write_name(plain, "", at, bytes))
		return false;
	char *out = strstr(plain, "_out_");
	if (out == NULL)
		return !ends(at, bytes, mark) && write_operator(at, bytes, name, is_allocation);
	char *rest = out + sizeof mark - 1;
	if (strstr(rest, "_out_") != NULL)
		return false;
	memmove(out, rest, strlen(rest) + 1);
	return write_operator(plain, strlen(plain), name, is_allocation);
}

/* Other wrappers are overload, "_", NAME. Without an overload, an underscore and NAME. */
static bool read_unstructured(const char *at, size_t bytes, char *name, bool *is_allocation)
{
	if (bytes > 1 && at[0] == '_')
		return write_operator(at + 1, bytes - 1, name, is_allocation);
	size_t longest = 0;
	for (const struct gp_name_rule *r = gp_rules_of(GP_RULE_OVERLOAD);
	     r->kind == GP_RULE_OVERLOAD; r++) {
		size_t n = strlen(r->text);
		if (n > longest && n + 1 < bytes && at[n] == '_' && memcmp(at, r->text, n) == 0)
			longest = n;
	}
	const char *base = at + longest + 1;
	size_t left = longest != 0 ? bytes - longest - 1 : 0;
	bool is_out = ends(at, longest, "out");
	/* an overload that writes to given tensors has _out at the end of NAME as well */
	if (left == 0 || is_out != ends(base, left, "_out"))
		return false;
	char whole[GP_NAME_MAX];
	left -= is_out ? strlen("_out") : 0;
	int n = snprintf(whole, sizeof whole, "aten::%.*s.%.*s", (int)left, base, (int)longest, at);
	if (n < 0 || (size_t)n >= sizeof whole || !write_name(name, "", base, left))
		return false;
	*is_allocation = gp_rule_fitting(GP_RULE_ALLOCATION, name) != NULL;
	memcpy(name, whole, (size_t)n + 1);
	return true;
}

/* For a call through the dispatcher: the template argument that is the wrapper. */
static const char *find_wrapper(const char *function)
{
	static const char *const call[] = { "c10::impl::make_boxed_from_unboxed_functor<",
					    "c10::impl::wrap_kernel_functor_unboxed_<" };
	for (size_t i = 0; i < sizeof call / sizeof *call; i++) {
		const char *at = starts(function, call[i]) ? strstr(function, "&at::") : NULL;
		if (at != NULL)
			return at + 1;
	}
	return function;
}

bool gp_operator_of_kernel(const char *function, char *name, bool *is_allocation)
{
	static const char space[] = "at::(anonymous namespace)::",
			  again[] = "(anonymous namespace)::", wrapper[] = "wrapper_";
	const char *at = find_wrapper(function);
	bool is_argument = at != function;
	if (!starts(at, space))
		return false;
	at += sizeof space - 1;
	bool is_unstructured = starts(at, again);
	at += is_unstructured ? sizeof again - 1 : 0;
	if (!starts(at, wrapper))
		return false;
	/* the backend follows: CUDA, SparseCsrCUDA, CompositeExplicitAutograd */
	at += sizeof wrapper - 1;
	at += strcspn(at, "_");
	const char *end = at + word(at);
	if (*at++ != '_' || (is_argument ? *end != '>' : !ends_name(end)))
		return false;
	return is_unstructured ? read_unstructured(at, word(at), name, is_allocation) :
				 read_structured(at, word(at), name, is_allocation);
}
