#include "formats/unnamed_code.h"

#include <errno.h>
#include <inttypes.h>

#include "base/text.h"

static void print_kernel_name(const struct import_kernel *kernel, uint64_t address,
			      struct text *name)
{
	text_append_string(name, "[kernel]");
	if (kernel->text && address >= kernel->text)
		text_printf(name, "+0x%" PRIx64, address - kernel->text);
}

static int print_name(const struct import *import, const struct location *location,
		      struct text *name, struct frame *frame)
{
	struct profile *profile = import->profile;
	const char *module;

	switch ((enum location_space)location->space) {
	case LOCATION_FILE:
	case LOCATION_ELF:
		module = path_basename(profile_get_string(
			profile, profile_get_module(profile, location->owner)->path));
		text_printf(name, "%s+0x%" PRIx64, module, location->address);
		return profile_add_string(profile, module, &frame->module);
	case LOCATION_KERNEL:
		frame->kind = FRAME_KERNEL;
		print_kernel_name(&import->kernel, location->address, name);
		return profile_add_string(profile, "[kernel]", &frame->module);
	case LOCATION_NAMED:
	case LOCATION_PROCESS:
		break;
	}
	text_append_string(name, "[unknown]");
	return profile_add_string(profile, "[unknown]", &frame->module);
}

static int name_location(const struct import *import, uint32_t id, struct text *name)
{
	struct location location = *profile_get_location(import->profile, id);
	struct frame frame = {0};
	int err;

	text_truncate(name, 0);
	err = print_name(import, &location, name, &frame);
	if (!err)
		err = name->failed ? -ENOMEM
				   : profile_add_frame_name(import->profile, name->data,
							    name->length, &frame.name);
	frame.full_name = frame.name;
	if (err)
		return err;
	return profile_set_frames(import->profile, id, &frame, 1,
				  location.space == LOCATION_PROCESS ? UNNAMED_NO_MAPPING
								     : UNNAMED_NO_SYMBOL);
}

int unnamed_code_name(struct import *import, bool is_kernel_only)
{
	_cleanup_(text_release) struct text name = {0};
	int err = 0;

	for (uint32_t i = 0; !err && i < profile_count_locations(import->profile); i++) {
		const struct location *location = profile_get_location(import->profile, i);
		bool is_own_kernel =
			location->space == LOCATION_KERNEL && location->owner == import->source;

		if (location->num_frames || location->space == LOCATION_NAMED ||
		    (is_kernel_only && !is_own_kernel))
			continue;
		err = name_location(import, i, &name);
	}
	return err;
}
