/*
 * The kinds of code that a frame may be of: a line each, from which enum frame_kind, the marks of folded text, and what
 * formats call the kinds are made. By which names foreign files mark a kind is each reader's own matter, and so are the
 * words and colours of the page (KINDS in src/viewer/web/names.js), which a test compares with the words here.
 */
#ifndef PROFILE_FRAME_KIND_H
#define PROFILE_FRAME_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * KIND(name, word, mark, Firefox's category, its colour there, number in Perfetto traces, type). The numbers of the kinds,
 * from 0 in this order, are written into files: a new kind comes last. Perfetto has fewer; of several with one number the
 * first is what that means in traces of others.
 */
#define FRAME_KINDS(KIND)                                                     \
	KIND(USER, "user", "", "User", "yellow", 1, "")                       \
	KIND(KERNEL, "kernel", "_[k]", "Kernel", "orange", 2, "kernel")       \
	KIND(JIT, "JIT", "_[j]", "JIT", "green", 4, "jit")                    \
	KIND(PYTHON, "Python", "", "Python", "blue", 3, "cpython")            \
	KIND(JAVASCRIPT, "JavaScript", "", "JavaScript", "yellow", 4, "v8js") \
	KIND(JAVA, "Java", "", "Java", "purple", 4, "jvm")                    \
	KIND(PHP, "PHP", "", "PHP", "magenta", 3, "php")                      \
	KIND(RUBY, "Ruby", "", "Ruby", "red", 3, "ruby")                      \
	KIND(PERL, "Perl", "", "Perl", "lightblue", 3, "perl")

#define FRAME_KIND_NUMBER(name, ...) FRAME_##name,
enum frame_kind { FRAME_KINDS(FRAME_KIND_NUMBER) NUM_FRAME_KINDS };
#undef FRAME_KIND_NUMBER

struct frame_kind_info {
	const char *word;     /* for people */
	const char *mark;     /* what folded text adds to a name; may be empty */
	const char *category; /* of the Firefox Profiler */
	const char *color;    /* that the category has */
	uint32_t perfetto_number;
	/* As OpenTelemetry calls it (profile.frame.type), where that has a word; empty: in files of its own. pprof has it in
	   the place of a file's name, "[TYPE]" or "[TYPE:MODULE]". */
	const char *type;
};

/* By enum frame_kind. */
extern const struct frame_kind_info frame_kinds[NUM_FRAME_KINDS];

/* The first kind with this number in Perfetto traces; FRAME_USER where there is none. */
enum frame_kind frame_kind_find_perfetto(uint64_t number);

/* The kind with that type; `other` if no kind has it. */
enum frame_kind frame_kind_find_type(const char *type, enum frame_kind other);

/* One mark only, as FlameGraph has it: that of the kind, or that the call was inlined. The first kinds are those with a mark. */
enum frame_mark {
	FRAME_MARK_NONE = FRAME_USER,
	FRAME_MARK_KERNEL = FRAME_KERNEL,
	FRAME_MARK_JIT = FRAME_JIT,
	FRAME_MARK_INLINED,
	NUM_FRAME_MARKS,
};

/* enum frame_mark. The kernel's functions have the kernel's, even inlined. */
uint8_t frame_kind_get_mark(uint8_t kind, bool is_inlined);

/* "_[k]" and the like; empty for FRAME_MARK_NONE. */
const char *frame_mark_get_text(uint8_t mark);

/* Whether a name ends with a mark: *length is the new length, *ret_mark which, enum frame_mark. */
bool frame_mark_strip(const char *name, size_t *length, uint8_t *ret_mark);

#endif
