#include "collect/events/allocator_sites.h"

#include <string.h>

bool allocator_site_is_needed(const struct allocator_function *function, bool is_live)
{
	return is_live || function->point.argument.source != ARGUMENT_NONE;
}

static uint8_t get_wire_register(uint64_t number)
{
	return number == ARGUMENT_NO_REGISTER ? WIRE_NO_REGISTER : (uint8_t)number;
}

/*
 * Ranges of a file's functions, in order. Code between two functions is not theirs: it may be a
 * small function that allocates. Calls from ranges beyond the maximum number are recognized in user
 * space (allocator_code.h).
 */
static void describe_own_code(const struct allocator *allocator, uint64_t point,
			      struct wire_own_code *ret)
{
	size_t num_ranges = 0;
	uint64_t end = 0; /* of the last range */

	array_for_each (&allocator->functions, function) {
		uint64_t start = function->point.file_offset;

		if (!function->bytes || function->point.argument.source == ARGUMENT_NONE)
			continue;
		if (!num_ranges || start > end) {
			if (num_ranges == WIRE_MAX_OWN_CODE)
				return;
			ret->offsets[num_ranges++] = start - point;
		}
		if (start + function->bytes > end)
			end = start + function->bytes;
		ret->bytes[num_ranges - 1] = end - point - ret->offsets[num_ranges - 1];
	}
}

struct probe_site allocator_site_describe(const struct allocator *allocator,
					  const struct allocator_function *function,
					  const struct allocator_probes *probes, int fd)
{
	struct probe_site site = {
		.config = probes->config,
		.offset = function->point.file_offset,
		.argument = function->point.argument,
		.free_register = WIRE_NO_REGISTER,
		.function_bytes = function->bytes,
		.fd = fd,
	};

	describe_own_code(allocator, function->point.file_offset, &site.own_code);
	memcpy(site.helpers, function->helpers, sizeof(site.helpers));
	site.has_other_helpers = function->has_other_helpers;
	site.own_code.jump_register = get_wire_register(function->jump_register);
	site.own_code.jump_limit = function->jump_limit;
	site.own_code.jumps_out = function->jumps_out;
	if (function->hook_address)
		site.own_code.hook_offset = function->hook_address - function->elf_address;
	site.own_code.calls_out = probes->lacks_callers && function->may_pass_on;
	site.own_code.pointer_register = get_wire_register(function->pointer_register);
	if (!probes->is_live)
		return site;
	/* Live memory needs the frees, too, and the address that identifies an allocation. */
	site.free_register = get_wire_register(function->free_register);
	if (function->point.argument.source != ARGUMENT_NONE)
		site.return_config = probes->return_config;
	return site;
}
