/* Made-up frames, as the rules of names see them. */
#ifndef NAME_FRAMES_H
#define NAME_FRAMES_H

#include "read/frame_names.h"

#define CPYTHON "/usr/bin/python3.12"

#define NATIVE(function, module)              \
	{                                     \
		function, module, NULL, false \
	}
#define PYTHON(function, file)             \
	{                                  \
		function, NULL, file, true \
	}

#endif
