#include "base/script_name.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/array.h"

/* clang-format off */
#include "unit.h"
/* clang-format on */

struct example {
	const char *comm;
	const char *line; /* words with single blanks between them; _ stands for a blank in one */
	const char *expected; /* "": nothing */
};

/* The same as /proc has it. */
static void append_words(struct text *words, const char *line)
{
	for (; *line; line++)
		text_append_char(words, *line == ' ' ? '\0' : *line == '_' ? ' ' : *line);
	text_append_char(words, '\0');
}

static void expect(const char *comm, const char *words, size_t size, const char *expected)
{
	_cleanup_(text_release) struct text name = {0};

	/* Of the exact size, so that reading beyond it is seen. */
	_cleanup_free_ char *copy = malloc(size + !size);

	assert_non_null(copy);
	memcpy(copy, words, size);
	script_name_append(comm, copy, size, &name);
	assert_false(name.failed);
	assert_string_equal(name.length ? name.data : "", expected);
}

static void expect_all(const struct example *examples, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		_cleanup_(text_release) struct text words = {0};

		append_words(&words, examples[i].line);
		print_message("%s: %s\n", examples[i].comm, examples[i].line);
		expect(examples[i].comm, words.data, words.length, examples[i].expected);
	}
}
#define EXPECT_ALL(examples) expect_all((examples), ARRAY_LENGTH(examples))

static void python_is_named_by_its_script_or_module(void **state _unused_)
{
	static const struct example examples[] = {
		{"python3", "python3 manage.py", "manage.py"},
		{"python3", "/usr/bin/python3 /srv/app/manage.py runserver -m x", "manage.py"},
		{"python", "python -u -W ignore -X importtime a.py", "a.py"},
		{"python3", "python3 -Wignore -Xdev a.py", "a.py"},
		{"python3", "python3 -uW ignore a.py", "a.py"},
		{"python3", "python3 --check-hash-based-pycs always a.py", "a.py"},
		{"python3", "python3 --check-hash-based-pycs=always a.py", "a.py"},
		{"python3", "python3 -m http.server 8000", "-m http.server"},
		{"python3", "python3 -mhttp.server", "-m http.server"},
		{"python3", "python3 -Im pip install", "-m pip"},
		{"python3", "python3 -c import_os -m x", "-c"},
		{"python3", "python3 -Bcpass", "-c"},
		{"python3", "python3", ""},
		{"python3", "python3 -", ""},
		{"python3", "python3 -i", ""},
		{"python3", "python3 -- -odd.py", "-odd.py"},
		{"python3", "python3 app/", "app"},
		{"python3", "python3 /", ""},
		{"python3", "python3  a.py", ""},
		{"python3.13t", "python3.13t a.py", "a.py"},
		{"python3.11-dbg", "python3.11-dbg a.py", "a.py"},
		{"pypy3", "pypy3 --jit off a.py", "a.py"},
		{"pt_main_thread", "python train.py", "train.py"},
		{"pt_main_thread", "node train.js", ""},
	};

	EXPECT_ALL(examples);
}

static void node_is_named_by_its_script(void **state _unused_)
{
	static const struct example examples[] = {
		{"node", "node server.js", "server.js"},
		{"nodejs", "/usr/bin/nodejs /srv/server.js --port 80", "server.js"},
		{"node", "node -r dotenv/config --import ./a.mjs server.js", "server.js"},
		{"node", "node --require=x -C dev --loader tsx --title web server.js", "server.js"},
		{"node", "node --max-old-space-size=4096 --inspect server.js", "server.js"},
		{"node", "node -e code x", "-e"},
		{"node", "node -p code", "-p"},
		{"node", "node -pe code", "-p"},
		{"node", "node --eval code", "--eval"},
		{"node", "node --eval=code", "--eval"},
		{"node", "node --run start", "--run start"},
		{"node", "node --test", ""},
		{"node", "node inspect server.js", "server.js"},
		{"node", "node inspect", "inspect"},
		{"node", "node -", ""},
		{"node", "node", ""},
		{"node-MainThread", "node server.js", "server.js"},
		{"MainThread", "/usr/bin/node server.js", "server.js"},
		{"MainThread", "/usr/bin/game level", ""},
		{"bun", "bun run dev", "dev"},
		{"deno", "deno run -A --import-map m.json main.ts", "main.ts"},
	};

	EXPECT_ALL(examples);
}

static void java_is_named_by_its_class_or_jar(void **state _unused_)
{
	static const struct example examples[] = {
		{"java", "java org.example.Main a b", "org.example.Main"},
		{"java", "java -cp a.jar:b.jar -Xmx1g -Dx=y org.example.Main", "org.example.Main"},
		{"java", "java -classpath a.jar Main", "Main"},
		{"java", "java --class-path=a.jar Main", "Main"},
		{"java", "java --add-opens java.base/java.lang=ALL-UNNAMED Main", "Main"},
		{"java", "java -jar /opt/app/x.jar --server", "x.jar"},
		{"java", "java -jar -Xmx1g x.jar", "x.jar"},
		{"java", "java -p mods -m org.example/org.example.Main",
		 "org.example/org.example.Main"},
		{"java", "java --module=m/C", "m/C"},
		{"java", "java @options Main", "Main"},
		{"java", "java /tmp/Hello.java", "Hello.java"},
		{"java", "java -version", ""},
		{"java", "java -cp", ""},
		/* Other threads of it have names of their own. */
		{"GC Thread#0", "java -jar x.jar", ""},
	};

	EXPECT_ALL(examples);
}

static void shells_are_named_by_their_script(void **state _unused_)
{
	static const struct example examples[] = {
		{"bash", "bash backup.sh /home", "backup.sh"},
		{"bash", "bash -euo pipefail backup.sh", "backup.sh"},
		{"bash", "bash -o pipefail -O extglob +o posix +x backup.sh", "backup.sh"},
		{"bash", "bash --rcfile x --login backup.sh", "backup.sh"},
		{"bash", "bash -lc make_all", "-c"},
		{"sh", "/bin/sh -c make_all", "-c"},
		{"sh", "sh -x -- backup.sh", "backup.sh"},
		{"sh", "sh - backup.sh", "backup.sh"},
		{"bash", "bash -s -- x", ""},
		{"bash", "-bash", ""},
		{"bash", "-bash -l", ""},
		{"zsh", "zsh -f a.zsh", "a.zsh"},
		{"fish", "fish --no-config --command ls", "--command"},
	};

	EXPECT_ALL(examples);
}

static void other_interpreters_are_named_by_their_script(void **state _unused_)
{
	static const struct example examples[] = {
		{"ruby3.1", "ruby3.1 -I lib -rset -W0 bin/rails server", "rails"},
		{"ruby", "ruby --enable gems -C /srv a.rb", "a.rb"},
		{"ruby", "ruby -ne puts", "-e"},
		{"perl", "perl -I lib -MData::Dumper -w a.pl", "a.pl"},
		{"perl", "perl -0777ne code", "-e"},
		{"perl", "perl -pi.bak a.pl", "a.pl"},
		{"perl", "perl -d:NYTProf a.pl", "a.pl"},
		{"php8.2", "php8.2 -d memory_limit=1G -c /etc a.php", "a.php"},
		{"php", "php -f a.php -- x", "a.php"},
		{"php", "php -r code", "-r"},
		{"php", "php -S localhost:80 -t web router.php", "router.php"},
		{"php-fpm8.2", "php-fpm:_pool_www", ""},
		{"lua5.4", "lua5.4 -l x a.lua", "a.lua"},
		{"tclsh8.6", "tclsh8.6 -encoding utf-8 a.tcl", "a.tcl"},
		{"R", "/usr/lib/R/bin/exec/R --no-echo --file=/x/a.R --args b", "a.R"},
		{"dotnet", "dotnet exec --depsfile d App.dll", "App.dll"},
		{"mono", "mono --debug App.exe", "App.exe"},
		{"julia", "julia -t 4 --project a.jl", "a.jl"},
		{"expect", "expect -f a.exp", "a.exp"},
	};

	EXPECT_ALL(examples);
}

static void what_is_no_interpreter_has_no_script(void **state _unused_)
{
	static const struct example examples[] = {
		{"nginx", "nginx -c a.conf", ""},
		{"cat", "python3 a.py", ""},
		{"pythonic", "pythonic a.py", ""},
		{"python-config", "python-config --libs", ""},
		{"shd", "shd x", ""},
		{"pythont", "pythont x", ""},
	};

	EXPECT_ALL(examples);
	expect("python3", "", 0, "");
	expect("", "python3\0a.py", 12, "");
}

static void a_script_that_the_kernel_has_started_keeps_its_name(void **state _unused_)
{
	static const struct example examples[] = {
		{"manage.py", "/usr/bin/python3 ./manage.py", ""},
		/* A shell script that is called like the interpreter that it starts. */
		{"python3", "bash /root/.pyenv/shims/python3 a.py", ""},
		/* By way of env, the kernel has started python3. */
		{"python3", "python3 ./manage.py", "manage.py"},
		/* argv[0] is anything. */
		{"python3", "web a.py", "a.py"},
	};

	EXPECT_ALL(examples);
}

static void the_last_word_may_be_truncated(void **state _unused_)
{
	expect("python3", "python3\0-u\0/srv/man", 19, "man");
	expect("python3", "python3", 7, "");
	expect("python3", "python3\0-W", 10, "");
	expect("python3", "python3\0-m", 10, "-m");
}

static void long_names_are_truncated_between_characters(void **state _unused_)
{
	_cleanup_(text_release) struct text words = {0};
	_cleanup_(text_release) struct text expected = {0};

	text_append(&words, "python3", sizeof("python3"));
	for (size_t i = 0; i < 1u << 20; i++)
		text_append_string(&words, i ? "ö" : "x"); /* two bytes */
	/* 97 bytes would end within a character. */
	text_append_string(&expected, "x");
	for (size_t i = 0; i < 48; i++)
		text_append_string(&expected, "ö");
	text_append_string(&expected, "...");
	expect("python3", words.data, words.length, expected.data);

	text_truncate(&words, sizeof("python3"));
	text_truncate(&expected, 0);
	for (size_t i = 0; i < SCRIPT_NAME_MAX_BYTES; i++) {
		text_append_char(&words, 'a');
		text_append_char(&expected, 'a');
	}
	expect("python3", words.data, words.length, expected.data);
	/* Bytes that continue nothing do not make it empty-handed. */
	text_truncate(&words, sizeof("python3"));
	for (size_t i = 0; i < 200; i++)
		text_append_char(&words, (char)0x80);
	expect("python3", words.data, words.length, "...");
}

static void a_script_after_megabytes_of_options_is_found(void **state _unused_)
{
	_cleanup_(text_release) struct text words = {0};

	text_append(&words, "java", sizeof("java"));
	for (size_t i = 0; i < 1u << 17; i++)
		text_append(&words, "-Dx=y", sizeof("-Dx=y"));
	text_append(&words, "-cp", sizeof("-cp"));
	for (size_t i = 0; i < 1u << 17; i++)
		text_append_string(&words, "lib/x.jar:");
	text_append_char(&words, '\0');
	text_append(&words, "Main", sizeof("Main"));
	expect("java", words.data, words.length, "Main");
}

static void foreign_bytes_come_out_as_they_are(void **state _unused_)
{
	expect("python3", "python3\0a;\n\xff.py", 15, "a;\n\xff.py");
	expect("python3", "python3\0 \n\t", 11, "");
}

static void a_thread_shows_it_under_the_name_of_its_process(void **state _unused_)
{
	assert_true(script_name_is_shown("python3", "python3"));
	assert_true(script_name_is_shown("MainThread", "node"));
	assert_true(script_name_is_shown("node", "node-MainThread"));
	/* It has called itself otherwise later. */
	assert_true(script_name_is_shown("worker", "python3"));
	assert_false(script_name_is_shown("python3", "worker"));
	/* Within an exec. */
	assert_false(script_name_is_shown("bash", "python3"));
	assert_false(script_name_is_shown("bash", "dash"));
	assert_false(script_name_is_shown("python3", "MainThread"));
}

static void a_label_is_taken_apart_where_an_interpreter_starts_it(void **state _unused_)
{
	static const char label[] = "python3 (-m http.server)";
	_cleanup_(text_release) struct text made = {0};
	const char *script;
	size_t length;
	size_t comm_length;

	text_append_string(&made, "python3");
	script_name_append_label(&made, "-m http.server", strlen("-m http.server"));
	assert_string_equal(made.data, label);
	assert_true(
		script_name_find_in_label(label, strlen(label), &comm_length, &script, &length));
	assert_int_equal(comm_length, strlen("python3"));
	assert_int_equal(length, strlen("-m http.server"));
	assert_memory_equal(script, "-m http.server", length);
	assert_false(script_name_find_in_label("python3", 7, &comm_length, &script, &length));
	assert_false(script_name_find_in_label("python3 ()", 10, &comm_length, &script, &length));
	assert_false(script_name_find_in_label("python3 (", 9, &comm_length, &script, &length));
	assert_false(script_name_find_in_label("nginx (x)", 9, &comm_length, &script, &length));
	assert_false(script_name_find_in_label(" (x)", 4, &comm_length, &script, &length));
	assert_false(script_name_find_in_label("", 0, &comm_length, &script, &length));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(python_is_named_by_its_script_or_module),
		cmocka_unit_test(node_is_named_by_its_script),
		cmocka_unit_test(java_is_named_by_its_class_or_jar),
		cmocka_unit_test(shells_are_named_by_their_script),
		cmocka_unit_test(other_interpreters_are_named_by_their_script),
		cmocka_unit_test(what_is_no_interpreter_has_no_script),
		cmocka_unit_test(a_script_that_the_kernel_has_started_keeps_its_name),
		cmocka_unit_test(the_last_word_may_be_truncated),
		cmocka_unit_test(long_names_are_truncated_between_characters),
		cmocka_unit_test(a_script_after_megabytes_of_options_is_found),
		cmocka_unit_test(foreign_bytes_come_out_as_they_are),
		cmocka_unit_test(a_thread_shows_it_under_the_name_of_its_process),
		cmocka_unit_test(a_label_is_taken_apart_where_an_interpreter_starts_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
