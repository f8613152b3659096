/*
 * Processes over time, as /proc and the kernel's side-band events show them.
 *
 * Events and samples arrive in order of time, so the table always has the state at the time of the
 * latest event. A process image (struct process) is one program run by one pid: an exec or a reused
 * pid starts a new image. Images are never removed, as samples refer to them.
 *
 * Not thread-safe.
 */
#ifndef PROCESS_PROCESS_TABLE_H
#define PROCESS_PROCESS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/text.h"
#include "process/file_table.h"

/*
 * The executable mappings of one process image: sorted by address, never overlapping.
 *
 * The kernel reports mmap() but not munmap(), so a newer mapping replaces older ones in its range,
 * and a mapping that was only unmapped stays.
 */

/* Executable mapping. */
struct mapping {
	uint64_t start;
	uint64_t end;         /* first byte after it */
	uint64_t file_offset; /* of start, in bytes; 0 without a file */
	uint32_t file;        /* number in the file table, or FILE_NONE */
	/*
	 * In versions of the process's mappings before this one, other code may have been at its
	 * addresses. An event has 0.
	 */
	uint32_t since;
};

/* Inherited lists share their mappings until one of them changes. */
struct mapping_list {
	ARRAY(struct mapping) sorted; /* by start */
	uint32_t *num_refs;           /* number of lists with these mappings; NULL: this one only */
};

void mapping_list_release(struct mapping_list *list);

/*
 * Add a mapping (start < end); mappings that it overlaps are trimmed, split or dropped. Nothing
 * changes if an older mapping has the same part of the same file at these addresses.
 *
 * ret_is_changed   whether the list changed
 *
 * Returns 0, or -ENOMEM (nothing changed).
 */
_must_check_ int mapping_list_add(struct mapping_list *list, const struct mapping *mapping,
				  bool *ret_is_changed);

/*
 * Give list (empty before) the mappings of other. They are not copied: a process that forks
 * thousands of times with thousands of mappings must not fill our memory. Returns 0 or -ENOMEM.
 */
_must_check_ int mapping_list_share(struct mapping_list *list, struct mapping_list *other);

bool mapping_list_equals(const struct mapping_list *a, const struct mapping_list *b);

/*
 * Whether any mapping overlaps this one but has other code: another file, or another part of the file.
 * If not, sets the greatest `since` of the overlapping mappings; 0: no mapping overlaps.
 */
bool mapping_list_has_other_code(const struct mapping_list *list, const struct mapping *mapping,
				 uint32_t *ret_since);

/* Whether any mapping overlaps this range. */
bool mapping_list_overlaps(const struct mapping_list *list, uint64_t start, uint64_t end);

/* The mapping that contains pc, or NULL; borrowed until the list changes. */
const struct mapping *mapping_list_find(const struct mapping_list *list, uint64_t pc);
/* The mapping that contains this part of a file at its addresses, or NULL; likewise. */
const struct mapping *mapping_list_find_part(const struct mapping_list *list,
					     const struct mapping *part);

/* Set `since` in a list that replaces an older one. Mappings in both lists keep theirs. */
void mapping_list_set_ages(struct mapping_list *list, const struct mapping_list *older,
			   uint32_t version);

#define COMM_SIZE          16
#define GENERATION_UNKNOWN UINT64_MAX

struct process_table;

/* Plain values, read-only outside the table. */
struct process {
	uint32_t id; /* dense, from 0, never reused */
	uint32_t pid;
	uint32_t parent_pid; /* 0 when unknown */
	uint32_t parent_tid; /* the thread of the parent that created it; 0: no fork was seen */
	uint64_t start_ns;   /* start of this image, or when it was first seen; if found by a scan:
				start of the process */
	uint64_t as_of_ns;   /* when its /proc entry was read; 0: never. It includes older
				events, which are ignored */
	uint64_t generation; /* the kernel's exec counter, or GENERATION_UNKNOWN */
	uint32_t mappings_version; /* grows with every change of the mappings, also from the parent
				      to a child and from an image to the next */
	bool is_exited;            /* as far as known: a later mapping shows that it was not */
	bool was_scanned;          /* /proc/PID/maps was read, or inherited from one that was */
	char comm[COMM_SIZE];      /* NUL-terminated */
	/* When its last thread ended, or an exec started the next image; 0: not known */
	uint64_t end_ns;
	/* Set after process_table_keep_details(): */
	bool has_uid;
	uint32_t uid;             /* the real one */
	const char *command_line; /* words separated by blanks; NULL or empty: unknown, or none */
	struct process *previous; /* the image of this pid before its exec, or NULL */
};

/* files is borrowed and must outlive the table. proc_root as in file_table_new(). */
struct process_table *process_table_new(const char *proc_root, struct file_table *files);
void process_table_free(struct process_table *table);

/*
 * From now on keep the user and command line of processes that are scanned or found by samples.
 * process_table_refresh_details(), at the end, rereads them for live processes, as many processes
 * set their title some time after their start. It also clears the end of processes that have not
 * ended.
 */
void process_table_keep_details(struct process_table *table);
/*
 * From now on keep the scripts of interpreters (base/script_name.h) among the same processes, from
 * their command lines; nothing is read of other processes.
 *
 * A process may be gone before its first sample is processed. A caller that learns of an exec
 * earlier reads the name then, and sets it after process_table_on_comm() of the exec:
 *
 * process_table_read_script()   append the script's name, if it is wanted and still that of comm's
 *                               program
 * process_table_set_script()    for the image that started at time_ns; ignored if older than its
 *                               scan. Returns 0 or -ENOMEM
 * process_get_script()          borrowed; empty without a script
 */
void process_table_keep_scripts(struct process_table *table);
void process_table_read_script(const struct process_table *table, pid_t pid, const char *comm,
			       struct text *script);
_must_check_ int process_table_set_script(struct process_table *table, uint64_t time_ns, pid_t pid,
					  const char *script);
const char *process_get_script(const struct process *process);
_must_check_ int process_table_refresh_details(struct process_table *table);

/*
 * Read every process below proc_root; each as of a time taken before its maps are read.
 * process_table_scan_some() asks is_target() about each first. process_table_scan_pid() reads one;
 * -ENOENT if it does not exist (any more). Scanning a pid that has an image refreshes this image.
 */
_must_check_ int process_table_scan(struct process_table *table);
_must_check_ int process_table_scan_some(struct process_table *table,
					 bool (*is_target)(pid_t pid, void *context),
					 void *context);
_must_check_ int process_table_scan_pid(struct process_table *table, pid_t pid);

/* The events. Each returns 0 or -ENOMEM. time_ns never falls from call to call. */
_must_check_ int process_table_on_fork(struct process_table *table, uint64_t time_ns, pid_t pid,
				       pid_t parent_pid);
/* The same, by a known thread of the parent. */
_must_check_ int process_table_on_fork_by(struct process_table *table, uint64_t time_ns, pid_t pid,
					  pid_t parent_pid, pid_t parent_tid);
/* comm_exec: the record has PERF_RECORD_MISC_COMM_EXEC, which marks a finished exec. */
_must_check_ int process_table_on_comm(struct process_table *table, uint64_t time_ns, pid_t pid,
				       const char *comm, bool is_exec);
/*
 * mapping   from the event. Its file should have been opened when the event arrived, since by now
 *           the process may be gone or its pid reused. If it is FILE_NONE or not open, the file is
 *           searched now
 * identity  of the file
 */
_must_check_ int process_table_on_mmap(struct process_table *table, uint64_t time_ns, pid_t pid,
				       const struct mapping *mapping,
				       const struct file_identity *identity);
/* A change that the file table has noticed. */
_must_check_ int process_table_on_written(struct process_table *table, uint64_t time_ns,
					  const struct written_file *written);
_must_check_ int process_table_on_exit(struct process_table *table, uint64_t time_ns, pid_t pid);
/* For another thread than the first. */
void process_table_on_thread_exit(struct process_table *table, uint64_t time_ns, pid_t pid);

/*
 * Find the image of a sample of pid. generation is the kernel's exec counter read with the sample
 * (GENERATION_UNKNOWN when the kernel has none).
 *
 * The current image's generation is adopted from the first sample that has one and is not inside
 * execve(): the kernel counts the exec a moment after the event that starts the new image, so that
 * a sample between the two has the number of the previous image. After that
 *  - a sample with an older one was taken inside exec, before the new image started: the image
 *    before (*ret_is_in_exec is set, also when that image is not known);
 *  - a sample with a newer one means an exec whose event was lost: a new image is started and read
 *    from /proc.
 * An unknown pid is read from /proc, and has an image without mappings when that fails. An exited
 * process is found until its pid is reused.
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int process_table_find(struct process_table *table, uint64_t time_ns, pid_t pid,
				    uint64_t generation, bool is_in_execve, struct process **ret,
				    bool *ret_is_in_exec);

/*
 * Forget the mappings of processes that ended two seconds before now_ns (clock_now_ns()) and were
 * never asked for by process_table_find(): programs that are started without end would fill the
 * memory.
 */
void process_table_trim(struct process_table *table, uint64_t now_ns);

/*
 * To be called when a sample has a pc in no mapping. The kernel has no event for mappings that
 * mremap() moves, so the process's maps are read again: at once, and while they are unchanged,
 * after 100 ms and increasing pauses. A new mapping in a gap is used for samples that are younger
 * than the reading. Returns 0 or -ENOMEM.
 */
_must_check_ int process_table_look_for_moved(struct process_table *table, uint64_t time_ns,
					      uint32_t id);

/* Images by id; the pointer stays valid until process_table_free(). */
const struct process *process_table_get(const struct process_table *table, uint32_t id);
uint32_t process_table_get_count(const struct process_table *table);

/* All executable mappings, sorted by start; borrowed until the next event. */
const struct mapping *process_get_mappings(const struct process *process, size_t *ret_count);

/*
 * Version of the mappings that last had a file in the place of other code: programs unload libraries
 * and load others. 0: never.
 */
uint32_t process_get_replacing_version(const struct process *process);

/*
 * Take an image from the list of changes: new images, changed mappings, a newly known generation,
 * or an exit. Returns false if the list is empty.
 */
bool process_table_take_changed(struct process_table *table, uint32_t *ret_id);

/*
 * Mappings of a process at some time, for samples of that time that are resolved later.
 *
 * process_keep_mappings()  keep the present ones. Returns 0 or -ENOMEM.
 * process_swap_mappings()  exchange the present mappings and the kept ones. A second call undoes it,
 *                          before the next event.
 */
struct kept_mappings {
	struct mapping_list list;
	uint32_t version;
};
_must_check_ int process_keep_mappings(struct process *process, struct kept_mappings *ret);
void process_swap_mappings(struct process *process, struct kept_mappings *kept);
static inline void kept_mappings_release(struct kept_mappings *kept)
{
	mapping_list_release(&kept->list);
}

/* The mapping that contains pc, or NULL; borrowed until the next event. */
const struct mapping *process_find_mapping(const struct process *process, uint64_t pc);

/*
 * The perf-map and jitdump of a process contain the names of its generated code.
 *
 * process_table_follow_code()  find and read these files while the process still exists. To be
 *                              called when code in memory without an ELF file is seen, as often as
 *                              you like. Missing files are searched again after 100 ms (of
 *                              time_ns), at the process's exit, and at the end
 * process_table_watch_code()   create a descriptor that is readable when such files have new data.
 *                              Returns it, borrowed; or negative errno
 * process_table_read_code()    read appended data, if the descriptor is readable or now and then.
 *                              To be called before samples up to now_ns are resolved
 * process_table_finish_code()  at the end: search once more for missing files, and read all to
 *                              their ends
 *
 * They return 0 or -ENOMEM. Reading has limits, which stats count:
 *
 * - 64 MiB of names per process; later ones are dropped.
 * - 256 MiB of names in total (or process_table_limit_code()). Beyond that a process loses its
 *   names: the largest one of the user whose names take the most.
 * - 128 MiB per perf-map.
 * - 8 MiB of files in a tenth of a second, and 512 MiB at the end.
 */
_must_check_ int process_table_follow_code(struct process_table *table, uint64_t time_ns,
					   uint32_t id);
int process_table_watch_code(struct process_table *table);
_must_check_ int process_table_read_code(struct process_table *table, uint64_t now_ns);
_must_check_ int process_table_finish_code(struct process_table *table);

void process_table_limit_code(struct process_table *table, uint64_t limit_bytes);

/*
 * The name of the generated code at pc at time_ns, or NULL if no name is as old.
 * process_find_first_code() returns the first name at this address, which is also used for earlier
 * times: code gets its name when it is complete, or later. Borrowed until code is read again.
 */
const char *process_find_code(const struct process *process, uint64_t pc, uint64_t time_ns);
const char *process_find_first_code(const struct process *process, uint64_t pc);

/* Two times with the same number have the same names. 0: no names. */
uint64_t process_get_code_version(const struct process *process, uint64_t time_ns);

/* Whether code at pc is in memory without a file, or with a file that is no ELF. */
bool process_table_is_generated(const struct process_table *table, const struct process *process,
				uint64_t pc);

/* Whether memory without a file may contain CPython's trampolines (unwind/walk.h). */
bool process_table_has_trampolines(const struct process_table *table,
				   const struct process *process);

/*
 * Whether the process's generated code is known to keep frame pointers. Unwinding by them through
 * other code may skip frames and reach the outermost one nevertheless. Determined at the first
 * call, from its mappings and options.
 */
bool process_table_keeps_frame_pointers(struct process_table *table, uint32_t id);

/* Counts of events, for the account. */
struct process_table_stats {
	uint64_t forks; /* new processes, not threads */
	uint64_t execs;
	uint64_t exits;
	uint64_t missed_execs;        /* noticed only by a sample's generation */
	uint64_t truncated_code_maps; /* processes whose generated code has too many names */
	uint32_t first_truncated_pid; /* one of these */
	char first_truncated_comm[COMM_SIZE];
};
struct process_table_stats process_table_get_stats(const struct process_table *table);

#endif
