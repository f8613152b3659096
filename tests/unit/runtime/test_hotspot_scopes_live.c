/*
 * Scopes of compiled code, and the methods that they name, held against what the JVM itself prints of its code: a program (Inlined.java)
 * is compiled by each of its compilers, and stands still while they are compared.
 *
 * Java is taken where it usually is; STACKWIDE_TEST_JAVAS names more, with `:` between their paths.
 */
#include "runtime/hotspot_scopes.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "java_runtimes.h"
#include "live_java.h"
#include "objfile/x86_64/instruction.h"
#include "runtime/hotspot_method.h"
#include "unit.h"

#define PROGRAM "tests/unit/runtime/Inlined.java"

/* What the JVM prints. */
struct printed_scope {
	char name[128]; /* class and method */
	int bytecode;
	int line; /* 0: none */
};

/* The scopes of the place in the code that is next behind an address. */
struct printed_place {
	uint64_t address;
	size_t num_scopes;
	struct printed_scope scopes[HOTSPOT_SCOPES_MAX_DEPTH];
};

struct printed_code {
	uint64_t blob;
	uint32_t compile_id;
	ARRAY(struct printed_place) places;
};

struct printed_codes {
	ARRAY(struct printed_code) codes;
};

static void release_codes(struct printed_codes *codes)
{
	array_for_each (&codes->codes, code)
		array_release(&code->places);
	array_release(&codes->codes);
}

/* "; - (reexecute) Main::leaf@30 (line 3)": returns false for another line. */
static bool parse_scope(const char *line, struct printed_scope *ret)
{
	static const char again[] = "(reexecute) ";
	const char *text = strstr(line, "; - ");
	const char *colons;
	const char *at;

	if (!text)
		return false;
	text += strlen("; - ");
	if (string_starts_with(text, again))
		text += strlen(again);
	colons = strstr(text, "::");
	at = colons ? strchr(colons, '@') : NULL;
	if (!at || (size_t)(at - text) >= sizeof(ret->name))
		return false;
	*ret = (struct printed_scope){0};
	snprintf(ret->name, sizeof(ret->name), "%.*s.%.*s", (int)(colons - text), text,
		 (int)(at - colons - 2), colons + 2);
	return sscanf(at, "@%d (line %d)", &ret->bytecode, &ret->line) >= 1;
}

/* Returns false where the program has ended instead. */
static bool read_codes(struct live_java *live, struct printed_codes *ret)
{
	struct printed_code *code = NULL;
	char *line = NULL;
	size_t size = 0;
	uint64_t address = 0;
	bool is_open = false; /* the last line was a scope */
	bool is_standing = false;

	while (!is_standing && getline(&line, &size, live->output) >= 0) {
		struct printed_place *place;
		struct printed_scope scope;
		const char *title;
		uint64_t number;

		/* JDK 11 ends a line before it goes on only where it disassembles. */
		is_standing = strstr(line, "standing");
		title = strstr(line, "Compiled method (");
		if (title) {
			code = array_add(&ret->codes);
			assert_non_null(code);
			*code = (struct printed_code){0};
			assert_int_equal(
				sscanf(title, "Compiled method (%*[^)]) %*d %u", &code->compile_id),
				1);
			continue;
		}
		if (!code)
			continue;
		if (sscanf(line, " total in heap [0x%" SCNx64, &number) == 1)
			code->blob = number;
		if (!parse_scope(line, &scope)) {
			is_open = false;
			if (sscanf(line, " 0x%" SCNx64 ":", &number) == 1)
				address = number;
			continue;
		}
		if (!is_open) {
			place = array_add(&code->places);
			assert_non_null(place);
			place->address = address;
			place->num_scopes = 0;
		}
		is_open = true;
		place = &code->places.items[code->places.length - 1];
		assert_true(place->num_scopes < HOTSPOT_SCOPES_MAX_DEPTH);
		place->scopes[place->num_scopes++] = scope;
	}
	free(line);
	return is_standing;
}

/* Those that are made at run time have a name that is not theirs for us. */
static bool is_made(const char *name)
{
	return strstr(name, "$$Lambda") || strstr(name, "LambdaForm");
}

static bool is_scope(struct live_java *live, struct hotspot_methods *methods,
		     const struct hotspot_scope *scope, const struct printed_scope *expected)
{
	const struct hotspot_memory memory = {live_java_read, live};
	const struct hotspot_method *method;
	struct wire_hotspot_method record;

	assert_int_equal(hotspot_method_read(&live->layout, &memory, scope->method, &record), 0);
	record.code = scope->method;
	assert_int_equal(hotspot_methods_add(methods, &record), 0);
	method = hotspot_methods_find(methods, 0, 0, scope->method, 0);
	assert_non_null(method);
	/* Before the first one, when it is entered, it is at the first one. */
	if (scope->bytecode != (uint32_t)(expected->bytecode == -1 ? 0 : expected->bytecode) ||
	    hotspot_method_get_line(method, scope->bytecode) != (uint32_t)expected->line)
		return false;
	if (is_made(expected->name))
		return true;
	return !strcmp(method->name, expected->name) &&
	       (!string_starts_with(expected->name, "Inlined") ||
		!strcmp(method->file, "Inlined.java"));
}

static bool is_chain(struct live_java *live, struct hotspot_methods *methods,
		     const struct hotspot_scope_chain *chain, const struct printed_place *place)
{
	if (chain->num_scopes != place->num_scopes)
		return false;
	for (size_t i = 0; i < place->num_scopes; i++)
		if (!is_scope(live, methods, &chain->scopes[i], &place->scopes[i]))
			return false;
	return true;
}

/* It prints where the words or the instruction start that the place lies in, or is behind. */
static bool is_in_scopes(struct live_java *live, struct hotspot_methods *methods,
			 const struct hotspot_scopes *scopes, const struct printed_place *place)
{
	for (unsigned int i = 1; i <= INSTRUCTION_MAX_BYTES; i++) {
		struct hotspot_scope_chain chain;

		if (!hotspot_scopes_find(scopes, place->address + i, true, &chain) &&
		    is_chain(live, methods, &chain, place))
			return true;
	}
	return false;
}

struct counts {
	unsigned int codes;
	unsigned int gone;
	unsigned int places;
	unsigned int inlined;
};

static void check_code(struct live_java *live, struct hotspot_methods *methods,
		       const struct printed_code *code, struct counts *counts)
{
	_cleanup_(hotspot_scopes_freep) struct hotspot_scopes *scopes = NULL;
	const struct hotspot_memory memory = {live_java_read, live};
	int err =
		hotspot_scopes_read(&live->layout, &memory, code->blob, code->compile_id, &scopes);

	/* Replaced by what another compiler has made of it. */
	if (err == -ESTALE) {
		counts->gone++;
		return;
	}
	assert_int_equal(err, 0);
	counts->codes++;
	array_for_each (&code->places, place) {
		assert_true(is_in_scopes(live, methods, scopes, place));
		counts->places++;
		counts->inlined += place->num_scopes > 2;
	}
}

/* Returns whether it is one that is known, and prints its code. */
static bool check_java(const char *java)
{
	const char *const arguments[] = {java,
					 "-Xbatch",
					 "-Xmx256m",
					 "-XX:+UnlockDiagnosticVMOptions",
					 "-XX:CompileCommand=print,Inlined*.*",
					 PROGRAM,
					 NULL};
	struct live_java live = {0};
	const struct hotspot_memory memory = {live_java_read, &live};
	_cleanup_(hotspot_methods_freep) struct hotspot_methods *methods = hotspot_methods_new();
	struct printed_codes codes = {0};
	struct counts counts = {0};

	assert_non_null(methods);
	live_java_start(&live, arguments);
	if (!read_codes(&live, &codes)) {
		print_message("%s: skipped, it does not run a source file\n", java);
	} else if (!live_java_find(&live)) {
		print_message("%s: skipped, no HotSpot in any file\n", java);
	} else {
		assert_int_equal(hotspot_read_layout(&live.build, live.bias, &memory, &live.layout),
				 0);
		if (live.layout.support == SUPPORT_KNOWN)
			array_for_each (&codes.codes, code)
				check_code(&live, methods, code, &counts);
		print_message("%s: JDK %u, %u pieces of code with %u places, %u of them of 3 and "
			      "more methods, %u replaced\n",
			      java, live.layout.major, counts.codes, counts.places, counts.inlined,
			      counts.gone);
	}
	live_java_stop(&live);
	release_codes(&codes);
	if (!counts.places)
		return false;
	assert_true(counts.codes > 10 && counts.places > 50 && counts.inlined > 10);
	return true;
}

static void scopes_are_what_the_jvm_prints(void **state)
{
	struct java_list javas = {0};
	unsigned int num_checked = 0;

	(void)state;
	find_javas(&javas);
	array_for_each (&javas.paths, java)
		num_checked += check_java(*java);
	release_javas(&javas);
	if (!num_checked) {
		print_message("skipped: there is no Java that is known and prints its code\n");
		skip();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scopes_are_what_the_jvm_prints),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
