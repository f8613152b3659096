#include "collect/elf/elf_message.h"

#include <string.h>

size_t elf_answer_get_size(const struct elf_answer *answer)
{
	if (answer->err)
		return offsetof(struct elf_answer, message) + sizeof(answer->message);
	if (answer->kind == ELF_IDENTIFY)
		return offsetof(struct elf_answer, identity.segments) +
		       answer->identity.num_segments * sizeof(*answer->identity.segments);
	if (answer->kind == ELF_PROVE_CALL)
		return offsetof(struct elf_answer, proof) + sizeof(answer->proof);
	if (answer->kind == ELF_HASH_TABLE)
		return offsetof(struct elf_answer, table_hash) + sizeof(answer->table_hash);
	if (answer->kind == ELF_FIND_PROBE)
		return offsetof(struct elf_answer, probe.points) +
		       answer->probe.num_points * sizeof(*answer->probe.points);
	if (answer->kind == ELF_FIND_ALLOCATOR)
		return offsetof(struct elf_answer, allocator.functions) +
		       answer->allocator.num_functions * sizeof(*answer->allocator.functions);
	if (answer->kind == ELF_FIND_LIBRARY)
		return offsetof(struct elf_answer, library) + sizeof(answer->library);
	return offsetof(struct elf_answer, message);
}

static bool is_argument_valid(const struct probe_argument *argument)
{
	return argument->source <= ARGUMENT_PRODUCT && argument->is_signed <= 1 &&
	       (argument->bytes == 1 || argument->bytes == 2 || argument->bytes == 4 ||
		argument->bytes == 8 || argument->source == ARGUMENT_NONE) &&
	       argument->base <= ARGUMENT_MAX_REGISTER &&
	       (argument->index <= ARGUMENT_MAX_REGISTER ||
		(argument->index == ARGUMENT_NO_REGISTER && argument->source != ARGUMENT_PRODUCT));
}

static bool are_points_valid(const struct elf_probe_points *found)
{
	for (uint32_t i = 0; i < found->num_points; i++)
		if (!is_argument_valid(&found->points[i].argument))
			return false;
	return true;
}

static bool is_register_valid(uint64_t number)
{
	return number <= ARGUMENT_MAX_REGISTER || number == ARGUMENT_NO_REGISTER;
}

/* A bool of any other byte must not even be read. */
static bool is_flag_valid(const bool *flag)
{
	unsigned char byte;

	memcpy(&byte, flag, sizeof(byte));
	return byte <= 1;
}

static bool are_functions_valid(const struct elf_allocator_functions *found)
{
	for (uint32_t i = 0; i < found->num_functions; i++) {
		const struct allocator_function *function = &found->functions[i];

		if (!is_flag_valid(&function->jumps_in_mimalloc) ||
		    !is_flag_valid(&function->may_pass_on) ||
		    !is_flag_valid(&function->jumps_out) ||
		    !is_flag_valid(&function->has_other_helpers) ||
		    !is_argument_valid(&function->point.argument) ||
		    !is_register_valid(function->free_register) ||
		    !is_register_valid(function->pointer_register) ||
		    !is_register_valid(function->jump_register))
			return false;
	}
	return true;
}

bool elf_answer_is_valid(struct elf_answer *answer, size_t size, enum elf_request_kind kind)
{
	if (size < offsetof(struct elf_answer, message) || answer->kind != kind || answer->err > 0)
		return false;
	if (!answer->err && kind == ELF_IDENTIFY &&
	    (size < offsetof(struct elf_answer, identity.segments) ||
	     answer->identity.num_segments > ELF_MAX_SEGMENTS ||
	     answer->identity.build_id_size > BUILD_ID_SIZE_MAX ||
	     (answer->identity.has_runtime && !runtime_build_is_valid(&answer->identity.runtime))))
		return false;
	if (!answer->err && kind == ELF_FIND_PROBE &&
	    (size < offsetof(struct elf_answer, probe.points) || !answer->probe.num_points ||
	     answer->probe.num_points > PROBE_MAX_POINTS))
		return false;
	if (!answer->err && kind == ELF_FIND_ALLOCATOR &&
	    (size < offsetof(struct elf_answer, allocator.functions) ||
	     !answer->allocator.num_functions ||
	     answer->allocator.num_functions > ALLOCATOR_MAX_FUNCTIONS))
		return false;
	if (size != elf_answer_get_size(answer))
		return false;
	if (!answer->err && kind == ELF_FIND_PROBE)
		return are_points_valid(&answer->probe);
	if (!answer->err && kind == ELF_FIND_ALLOCATOR)
		return are_functions_valid(&answer->allocator);
	if (!answer->err && kind == ELF_FIND_LIBRARY)
		return memchr(answer->library, '\0', sizeof(answer->library));
	if (answer->err)
		answer->message[sizeof(answer->message) - 1] = '\0';
	return answer->err || kind != ELF_PROVE_CALL || answer->proof <= CALL_DISPROVEN;
}
