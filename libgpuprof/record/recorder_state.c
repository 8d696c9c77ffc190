/*
 * The data that all files of the recorder share. Has no code, because every file may need this one.
 */
#include "recorder.h"

struct gp_settings gp_settings;
enum gp_scope_from gp_scope_follow GP_HOT_DATA;
bool gp_scope_heeds GP_HOT_DATA;
void (*gp_recorder_ending)(void);
_Atomic uint32_t gp_scope_ended_by;
struct gp_recorder gp_recorder;
struct gp_control *gp_control GP_HOT_DATA;
_Atomic uint32_t gp_uses_requested GP_HOT_DATA;
_Thread_local struct gp_thread gp_thread = { .word = GP_WORD_NEVER };

static struct gp_local before_constructor; /* no event is recorded before the constructor ran */
struct gp_local *gp_local GP_HOT_DATA = &before_constructor;
bool gp_recorder_is_initialised;
