#include "analysis/thread_label.h"

#include <string.h>

#include "base/array.h"
#include "base/script_name.h"

bool thread_has_label(const struct profile *profile, uint32_t id, enum tree_root root)
{
	const struct thread *thread = profile_get_thread(profile, id);

	return root != TREE_ROOT_NONE && (thread->comm != STRING_EMPTY || thread->tid ||
					  profile_get_process(profile, thread->process)->pid);
}

void thread_label_append(const struct profile *profile, uint32_t id, enum tree_root root,
			 struct text *label)
{
	const struct thread *thread = profile_get_thread(profile, id);
	const struct process_info *process = profile_get_process(profile, thread->process);
	uint32_t pid = process->pid;

	if (thread->comm == STRING_EMPTY)
		text_append_string(label, UNKNOWN_NAME);
	else
		text_append(label, profile_get_string(profile, thread->comm),
			    profile_get_string_length(profile, thread->comm));
	if (root == TREE_ROOT_SCRIPT && process->script != STRING_EMPTY &&
	    script_name_is_shown(profile_get_string(profile, process->comm),
				 profile_get_string(profile, thread->comm)))
		script_name_append_label(label, profile_get_string(profile, process->script),
					 profile_get_string_length(profile, process->script));
	if (root != TREE_ROOT_PID && root != TREE_ROOT_TID)
		return;
	if (pid)
		text_printf(label, "-%u", pid);
	else
		text_append_string(label, "-?");
	if (root == TREE_ROOT_TID)
		text_printf(label, "/%u", thread->tid);
}

bool thread_is_labelled(const struct profile *profile, uint32_t id, const char *text, size_t length)
{
	static const enum tree_root roots[] = {TREE_ROOT_COMM, TREE_ROOT_SCRIPT, TREE_ROOT_PID,
					       TREE_ROOT_TID};
	_cleanup_(text_release) struct text label = {0};

	if (!thread_has_label(profile, id, TREE_ROOT_COMM))
		return false;
	for (size_t i = 0; i < ARRAY_LENGTH(roots); i++) {
		text_truncate(&label, 0);
		thread_label_append(profile, id, roots[i], &label);
		if (!label.failed && label.length == length &&
		    memcmp(label.data, text, length) == 0)
			return true;
	}
	return false;
}
