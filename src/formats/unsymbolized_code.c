/*
 * Names for code without symbolization: in the viewer, which has no files, and for locations that
 * importers leave without a name. "libc.so.6+0x2a1c4" is the same in every run of the same file and
 * can be resolved by hand. A process's address is not, so such code is [unknown] rather than a
 * number that means something else next time. Kernel addresses are given relative to the kernel's
 * text if that is known, because the kernel moves at each boot.
 */
#include "formats/import.h"

#include <errno.h>
#include <inttypes.h>

#include "base/text.h"

/* Never the absolute address: it would reveal where the machine's kernel is loaded (KASLR). */
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
		module = path_get_module(profile_get_string(
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

static int name_location(const struct import *import, uint32_t id, enum unnamed_reason reason,
			 struct text *name)
{
	/* A copy: adding frames may move the locations. */
	struct location location = *profile_get_location(import->profile, id);
	struct frame frame = {0};
	int err;

	text_truncate(name, 0);
	err = print_name(import, &location, name, &frame);
	if (err)
		return err;
	if (name->failed)
		return -ENOMEM;
	err = profile_add_frame_name(import->profile, name->data, name->length, &frame.name);
	if (err)
		return err;
	frame.full_name = frame.name;
	return profile_set_frames(import->profile, id, &frame, 1,
				  reason == UNNAMED_NO_SYMBOL && location.space == LOCATION_PROCESS
					  ? UNNAMED_NO_MAPPING
					  : reason);
}

int unsymbolized_code_name(struct import *import, bool is_kernel_only, enum unnamed_reason reason)
{
	_cleanup_(text_release) struct text name = {0};
	int err;

	for (uint32_t i = 0; i < profile_count_locations(import->profile); i++) {
		const struct location *location = profile_get_location(import->profile, i);
		bool is_own_kernel =
			location->space == LOCATION_KERNEL && location->owner == import->source;

		if (location->num_frames || location->space == LOCATION_NAMED ||
		    (is_kernel_only && !is_own_kernel))
			continue;
		err = name_location(import, i, reason, &name);
		if (err)
			return err;
	}
	return 0;
}
