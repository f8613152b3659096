/*
 * What a machine lets stackwide do, looked up one thing at a time.
 *
 * Everything is read below a root folder, so that tests can show any machine.
 */
#ifndef CLI_RECORD_DOCTOR_H
#define CLI_RECORD_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"

struct finding {
	const char *name;
	bool is_ok;
	char detail[256]; /* what there is, or what is missing and what that means */
	char fix[192];    /* a command, or what else to do; empty when all is well */
};

/* What the kernel itself answers: collect/kernel_features.h. */
struct kernel_answers {
	bool can_be_asked; /* else the others say nothing */
	bool has_find_vma;
	bool has_task_registers;
	bool reports_build_ids;
	bool counts_bpf_as_locked;
	const char *switch_in; /* the event of a thread that gets a CPU again; NULL: none */
};

struct doctor {
	int root_fd;              /* of the folder that stands for / */
	unsigned int confinement; /* enum confinement_part: what holds for who reads programs */
	bool is_root;             /* the user is root; in messages */
	struct kernel_answers kernel;
};

/* Look up number `index`, from 0. Returns false when there are no more. */
bool doctor_check(const struct doctor *doctor, size_t index, struct finding *ret);

#endif
