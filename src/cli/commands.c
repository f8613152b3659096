/* The list of commands, in the order of the help. */
#include "cli/options/command.h"

/* clang-format off */
static const struct command *const commands[] = {
	&command_record,
	&command_report,
	&command_view,
	&command_diff,
	&command_convert,
	&command_capture,
	&command_history,
	&command_events,
	&command_doctor,
	&command_unwind_table,
	NULL, /* ends the list */
};
/* clang-format on */

const struct command *const *command_get_all(void)
{
	return commands;
}
