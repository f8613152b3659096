#include "collect/elf_message.h"

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
	return offsetof(struct elf_answer, message);
}

bool elf_answer_is_valid(struct elf_answer *answer, size_t size, enum elf_request_kind kind)
{
	if (size < offsetof(struct elf_answer, message) || answer->kind != kind || answer->err > 0)
		return false;
	if (!answer->err && kind == ELF_IDENTIFY &&
	    (size < offsetof(struct elf_answer, identity.segments) ||
	     answer->identity.num_segments > ELF_MAX_SEGMENTS ||
	     answer->identity.build_id_size > BUILD_ID_SIZE_MAX))
		return false;
	if (size != elf_answer_get_size(answer))
		return false;
	if (answer->err)
		answer->message[sizeof(answer->message) - 1] = '\0';
	return answer->err || kind != ELF_PROVE_CALL || answer->proof <= CALL_DISPROVEN;
}
