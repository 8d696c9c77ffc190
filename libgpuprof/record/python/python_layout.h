/*
 * The layout of the interpreter in this process. Decided once from its version and, if it has them,
 * from the offsets that it publishes. Only for builds in the table; for others it returns a reason.
 */
#ifndef GP_PYTHON_LAYOUT_H
#define GP_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "python_line.h"

#define GP_PYTHON_OLDEST 8 /* minor versions of CPython 3 */
#define GP_PYTHON_NEWEST 14
#define GP_PYTHON_NONE (-1)

/*
 * Symbols that the interpreter exports. `version`, `is_finalizing` and `cell_type` may be NULL, and
 * those that its version lacks. All others are required.
 */
struct gp_python_symbols {
	void *(*thread_state)(void);	    /* PyGILState_GetThisThreadState */
	void *(*main_interpreter)(void);    /* PyInterpreterState_Main */
	int (*is_finalizing)(void);	    /* Py_IsFinalizing, before 3.13 _Py_IsFinalizing */
	const char *(*version_text)(void);  /* Py_GetVersion */
	const unsigned long *version;	    /* Py_Version, since 3.11 */
	const unsigned char *runtime;	    /* _PyRuntime */
	const void *code_type, *frame_type; /* PyCode_Type, PyFrame_Type */
	const void *text_type, *bytes_type; /* PyUnicode_Type, PyBytes_Type */
	const void *cell_type;		    /* PyCell_Type; NULL: no modules of PyTorch */
};

struct gp_python_layout {
#define FIELD(name, ...) int16_t name;
#include "python_layout.def"
#undef FIELD
	uint8_t minor;
	uint8_t scale; /* bytes in one unit of f_lasti, before 3.11 */
	enum gp_python_lines lines;
};

/*
 * PY_VERSION_HEX without patch and serial number, from a text as Py_GetVersion returns it: "3.10.13
 * (main, ..." or "3.9.0a2 (...". 0: not Python 3.
 */
uint32_t gp_python_parse_version(const char *text);

/*
 * Fills `layout` and returns NULL, or the reason why this interpreter is unreadable. Reads only
 * what `symbols` points at. Call it outside of hooks, because Py_GetVersion is a function of the
 * interpreter.
 */
const char *gp_python_layout_find(const struct gp_python_symbols *symbols,
				  struct gp_python_layout *layout);

#endif
