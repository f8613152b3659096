#include "objfile/demangle.h"

#include <ctype.h>
#include <errno.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/text.h"

/* No compiler makes longer symbols. Only the start of a longer one is used. */
#define MAX_SYMBOL_BYTES (64u << 10)

struct cached_name {
	char *symbol;
	char *name;
	char *full_name;
};

struct demangler {
	ARRAY(struct cached_name) names;
	struct hash_index index;
};

struct demangler *demangler_new(void)
{
	return calloc(1, sizeof(struct demangler));
}

void demangler_free(struct demangler *demangler)
{
	if (!demangler)
		return;
	array_for_each (&demangler->names, cached) {
		free(cached->symbol);
		free(cached->name);
		free(cached->full_name);
	}
	array_release(&demangler->names);
	hash_index_release(&demangler->index);
	free(demangler);
}

/* Suffixes of compilers for parts and copies of a function, as ".part.0" or ".cold". */
static bool is_clone_word(const char *word, size_t length)
{
	static const char *const words[] = {
		"cold", "part",       "constprop", "isra", "lto_priv",
		"llvm", "localalias", "warm",      "hot",  "__uniq",
	};

	for (size_t i = 0; i < ARRAY_LENGTH(words); i++)
		if (strlen(words[i]) == length && memcmp(words[i], word, length) == 0)
			return true;
	return false;
}

/* The length of the symbol's first `length` bytes without their last clone suffix, if any. */
static size_t strip_clone_suffix(const char *symbol, size_t length)
{
	size_t end = length;
	const char *dot;

	while (end > 1 && isdigit((unsigned char)symbol[end - 1]))
		end--;
	if (end < length && symbol[end - 1] == '.')
		end--;
	else
		end = length;
	dot = memrchr(symbol, '.', end);
	if (!dot || dot == symbol)
		return length;
	if (!is_clone_word(dot + 1, end - (size_t)(dot + 1 - symbol)))
		return length;
	return (size_t)(dot - symbol);
}

/* The length of the symbol without symbol version (memcpy@@GLIBC_2.14) and clone suffixes. */
static size_t get_plain_length(const char *symbol)
{
	const char *at = symbol[0] ? strchr(symbol + 1, '@') : NULL;
	size_t length = at ? (size_t)(at - symbol) : strlen(symbol);

	for (;;) {
		size_t shorter = strip_clone_suffix(symbol, length);

		if (shorter == length)
			return length;
		length = shorter;
	}
}

/* The demangler's output so far. */
struct printed {
	struct text text;
	jmp_buf too_long;
};

static void print_slice(const char *chunk, size_t length, void *opaque)
{
	struct printed *printed = opaque;

	/*
	 * Substitutions can make 2^n bytes of a symbol of n bytes, and the callback has no other
	 * way to stop the demangler.
	 */
	if (printed->text.length + length > DEMANGLED_MAX_BYTES || printed->text.failed)
		longjmp(printed->too_long, 1);
	text_append(&printed->text, chunk, length);
}

/* The number of lifetimes of a binder ("G" and a number in base 62); at most the limit. */
static size_t count_bound_lifetimes(const char *binder, size_t limit)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz"
				     "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t length = strspn(binder + 1, digits);
	size_t number = 0;

	if (binder[1 + length] != '_')
		return 0;
	for (size_t i = 0; i < length && number < limit; i++)
		number = number * 62 + (size_t)(strchr(digits, binder[1 + i]) - digits);
	number += length > 0 ? 2 : 1;
	return number < limit ? number : limit;
}

/*
 * Whether a Rust symbol binds more lifetimes than a name may have bytes. The demangler counts them
 * one by one, up to 2^64, without calling back, so it would hang. A binder follows the letter of a
 * function type or of a trait object. An identifier may look like one by chance: its symbol then
 * stays mangled.
 */
static bool binds_too_much(const char *symbol)
{
	size_t left = DEMANGLED_MAX_BYTES;

	if (!string_starts_with(symbol, "_R"))
		return false;
	for (const char *at = strchr(symbol, 'G'); at && left; at = strchr(at + 1, 'G'))
		if (at[-1] == 'F' || at[-1] == 'D')
			left -= count_bound_lifetimes(at, left);
	return left == 0;
}

static bool demangle(struct printed *printed, const char *symbol, int options)
{
	if (binds_too_much(symbol))
		return false;
	if (setjmp(printed->too_long)) {
		text_append_string(&printed->text, "...");
		return true;
	}
	/* Rust first: its older scheme looks like C++. Without DMGL_VERBOSE it drops the hash. */
	if (rust_demangle_callback(symbol, 0, print_slice, printed))
		return true;
	text_truncate(&printed->text, 0);
	if (cplus_demangle_v3_callback(symbol, options, print_slice, printed))
		return true;
	text_truncate(&printed->text, 0);
	return false;
}

bool symbol_is_mangled(const char *symbol)
{
	return string_starts_with(symbol, "_Z") || string_starts_with(symbol, "_R");
}

/* The demangled name, or a copy of the symbol. NULL when out of memory. */
static char *demangle_or_copy(const char *symbol, int options)
{
	struct printed printed = {0};

	if (!symbol_is_mangled(symbol))
		return strdup(symbol);
	if (demangle(&printed, symbol, options) && printed.text.length && !printed.text.failed)
		return printed.text.data;
	text_release(&printed.text);
	return strdup(symbol);
}

char *demangle_symbol(const char *symbol, bool with_parameters)
{
	_cleanup_free_ char *plain = strndup(symbol, get_plain_length(symbol));

	if (!plain)
		return NULL;
	return demangle_or_copy(plain, with_parameters ? DMGL_PARAMS | DMGL_ANSI | DMGL_RET_DROP
						       : DMGL_NO_OPTS);
}

/* Among the clone suffixes, ".part.0" or ".cold". */
static bool has_clone_word(const char *symbol, const char *word)
{
	size_t plain_length = get_plain_length(symbol);
	size_t length = strlen(word);

	for (const char *dot = strchr(symbol + plain_length, '.'); dot; dot = strchr(dot + 1, '.'))
		if (strncmp(dot + 1, word, length) == 0 && !isalnum((unsigned char)dot[1 + length]))
			return true;
	return false;
}

bool symbol_is_clone(const char *symbol)
{
	return has_clone_word(symbol, "constprop") || has_clone_word(symbol, "isra") ||
	       has_clone_word(symbol, "part");
}

bool symbol_is_cold_part(const char *symbol)
{
	return has_clone_word(symbol, "cold");
}

/* A stub that calls a function is named after it ("_Z3foov@plt"). */
#define STUB_SUFFIX "@plt"

static int append_stub_suffix(char **name)
{
	char *longer;

	if (!*name || asprintf(&longer, "%s" STUB_SUFFIX, *name) < 0)
		return -ENOMEM;
	free(*name);
	*name = longer;
	return 0;
}

static int make_function_names(const char *symbol, struct cached_name *ret)
{
	_cleanup_free_ char *plain = strndup(symbol, get_plain_length(symbol));

	if (!plain)
		return -ENOMEM;
	ret->name = demangle_or_copy(plain, DMGL_NO_OPTS);
	ret->full_name = demangle_or_copy(symbol, DMGL_PARAMS | DMGL_ANSI);
	/*
	 * The demangler rejects the whole symbol for a version or a suffix that it does not know.
	 */
	if (ret->full_name && symbol_is_mangled(symbol) && string_equals(ret->full_name, symbol)) {
		free(ret->full_name);
		ret->full_name = demangle_or_copy(plain, DMGL_PARAMS | DMGL_ANSI);
	}
	return ret->name && ret->full_name ? 0 : -ENOMEM;
}

/*
 * The length of a Go symbol without the calling convention, which the linker appends if a function
 * has a second entry for the other convention. Go's own tables and profiles do not have it.
 */
static size_t strip_go_convention(const char *symbol, size_t length)
{
	static const char *const suffixes[] = {".abi0", ".abiinternal"};

	for (size_t i = 0; i < ARRAY_LENGTH(suffixes); i++) {
		size_t suffix_length = strlen(suffixes[i]);

		if (length > suffix_length &&
		    memcmp(symbol + length - suffix_length, suffixes[i], suffix_length) == 0)
			return length - suffix_length;
	}
	return length;
}

static int make_names(const char *symbol, struct cached_name *ret)
{
	bool is_stub = string_ends_with(symbol, STUB_SUFFIX);
	size_t length = strlen(symbol) - (is_stub ? strlen(STUB_SUFFIX) : 0);
	_cleanup_free_ char *function = strndup(symbol, strip_go_convention(symbol, length));
	int err;

	ret->symbol = strdup(symbol);
	if (!function || !ret->symbol)
		return -ENOMEM;
	err = make_function_names(function, ret);
	if (err || !is_stub)
		return err;
	err = append_stub_suffix(&ret->name);
	return err ? err : append_stub_suffix(&ret->full_name);
}

static bool is_cached_name(const void *owner, uint32_t item, const void *key)
{
	const struct demangler *demangler = owner;

	return string_equals(demangler->names.items[item].symbol, key);
}

static int get_cached(struct demangler *demangler, const char *symbol, struct demangled_name *ret)
{
	uint64_t hash = hash_bytes(symbol, strlen(symbol));
	uint32_t item = hash_index_find(&demangler->index, hash, is_cached_name, demangler, symbol);
	struct cached_name *cached;
	int err;

	if (item == HASH_INDEX_NONE) {
		item = (uint32_t)demangler->names.length;
		cached = array_add(&demangler->names);
		if (!cached)
			return -ENOMEM;
		err = make_names(symbol, cached);
		if (err)
			return err;
		err = hash_index_add(&demangler->index, hash, item);
		if (err)
			return err;
	}
	cached = &demangler->names.items[item];
	*ret = (struct demangled_name){.name = cached->name, .full_name = cached->full_name};
	return 0;
}

int demangler_get(struct demangler *demangler, const char *symbol, struct demangled_name *ret)
{
	_cleanup_free_ char *start = NULL;

	if (strnlen(symbol, MAX_SYMBOL_BYTES + 1) <= MAX_SYMBOL_BYTES)
		return get_cached(demangler, symbol, ret);
	start = strndup(symbol, MAX_SYMBOL_BYTES);
	return start ? get_cached(demangler, start, ret) : -ENOMEM;
}
