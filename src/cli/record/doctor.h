/*
 * Checks of the machine, one thing at a time: whether it lets stackwide work.
 *
 * Everything is read below a root folder, so that tests can present any machine.
 */
#ifndef CLI_RECORD_DOCTOR_H
#define CLI_RECORD_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"

struct finding {
	const char *name;
	bool is_ok;
	char detail[256]; /* the state, or the missing thing and its effect */
	char fix[192];    /* a command or other advice; empty when all is well */
};

/* Answers of the kernel itself: collect/kernel_features.h. */
struct kernel_answers {
	bool can_be_asked; /* else the others are meaningless */
	bool has_find_vma;
	bool has_task_registers;
	bool reports_build_ids;
	bool counts_bpf_as_locked;
	const char *switch_in; /* event of a thread that gets a CPU again; NULL: none */
};

struct doctor {
	int root_fd;              /* of the folder that acts as / */
	unsigned int confinement; /* enum confinement_part: protection of ELF readers */
	bool is_root;             /* the user is root; for messages */
	struct kernel_answers kernel;
};

/* Perform check number `index`, from 0. Returns false if there are no more. */
bool doctor_check(const struct doctor *doctor, size_t index, struct finding *ret);

#endif
