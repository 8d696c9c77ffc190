/* The texts behind status.h. */
#include "status.h"

const char *gp_status_text(enum gp_status status)
{
	switch (status) {
#define STATUS(number, NAME, text) \
	case GP_##NAME:            \
		return text;
#include "status.def"
#undef STATUS
	}
	return "unknown error";
}
