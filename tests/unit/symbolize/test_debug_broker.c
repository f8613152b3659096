#include "late_answers.h"

#include "symbolize/debug_broker.c"
#undef poll

#include "test_folder.h"
#include "unit.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/text.h"
#include "symbolize/debug_broker.h"

#define PATH_BYTES (TEST_PATH_BYTES + 64)

/* debug/ is the root of debug files; programs/program is mapped. */
struct scene {
	char folder[TEST_PATH_BYTES];
	char root[PATH_BYTES];
	char program[PATH_BYTES];
	struct file_table *files;
	struct debug_broker broker;
};

static const char *in(const struct scene *scene, const char *name)
{
	static char path[PATH_BYTES];

	snprintf(path, sizeof(path), "%s/%s", scene->folder, name);
	return path;
}

static void write_file(const struct scene *scene, const char *name, const char *content)
{
	int fd = open(in(scene, name), O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, strlen(content)), (ssize_t)strlen(content));
	close(fd);
}

static int set_up(void **state)
{
	static const char *const folders[] = {"debug", "debug/below", "programs", "programs/.debug",
					      "programs/deep"};
	struct file_identity identity = {0};
	struct scene *scene = calloc(1, sizeof(*scene));

	test_folder_make(scene->folder);
	for (size_t i = 0; i < ARRAY_LENGTH(folders); i++)
		assert_int_equal(mkdir(in(scene, folders[i]), 0755), 0);
	write_file(scene, "debug/below/file.debug", ELFMAG "x");
	write_file(scene, "debug/text", "no ELF file");
	write_file(scene, "programs/program", ELFMAG "p");
	write_file(scene, "programs/program.debug", ELFMAG "d");
	write_file(scene, "programs/.debug/program.debug", ELFMAG "d");
	write_file(scene, "programs/deep/program.debug", ELFMAG "d");
	write_file(scene, "elsewhere.debug", ELFMAG "d");
	strcpy(scene->root, in(scene, "debug"));
	strcpy(scene->program, in(scene, "programs/program"));
	scene->files = file_table_new("/proc", NULL);
	identity.path = scene->program;
	assert_int_equal(file_table_add_sought(scene->files, &identity), 0);
	file_table_set_found(scene->files, 0, open(scene->program, O_RDONLY), false);
	scene->broker = (struct debug_broker){.debug_root = scene->root, .files = scene->files};
	*state = scene;
	return 0;
}

static int remove_entry(const char *path, const struct stat *status _unused_, int type _unused_,
			struct FTW *where _unused_)
{
	return remove(path);
}

static int tear_down(void **state)
{
	struct scene *scene = *state;

	file_table_free(scene->files);
	assert_int_equal(nftw(scene->folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
	free(scene);
	return 0;
}

static int ask_broker(const struct scene *scene, const char *path)
{
	int fd = debug_broker_open(&scene->broker, path, strlen(path));

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static void assert_opened(const struct scene *scene, const char *name)
{
	assert_int_equal(ask_broker(scene, in(scene, name)), 0);
}

static void assert_refused(const struct scene *scene, const char *name)
{
	assert_int_equal(ask_broker(scene, in(scene, name)), -EACCES);
}

static void what_is_below_a_root_is_opened(void **state)
{
	struct scene *scene = *state;
	char roots[2 * PATH_BYTES];

	assert_opened(scene, "debug/below/file.debug");
	assert_int_equal(ask_broker(scene, in(scene, "debug/nothing")), -ENOENT);
	snprintf(roots, sizeof(roots), "/nothing:%s", scene->root);
	scene->broker.debug_root = roots;
	assert_opened(scene, "debug/below/file.debug");
	scene->broker.debug_root = "";
	assert_refused(scene, "debug/below/file.debug");
}

static void what_is_beside_a_mapped_file_is_opened(void **state)
{
	assert_opened(*state, "programs/program.debug");
	assert_opened(*state, "programs/.debug/program.debug");
	assert_refused(*state, "programs/deep/program.debug");
	assert_refused(*state, "elsewhere.debug");
	assert_int_equal(ask_broker(*state, "/etc/passwd"), -EACCES);
}

static void only_elf_files_are_opened(void **state)
{
	struct scene *scene = *state;

	assert_refused(scene, "debug/text");
	assert_int_equal(ask_broker(scene, in(scene, "debug/below")), -ENOTSUP);
	assert_int_equal(mkfifo(in(scene, "debug/fifo"), 0600), 0);
	assert_int_equal(ask_broker(scene, in(scene, "debug/fifo")), -ENOTSUP);
}

static void paths_that_lead_elsewhere_are_refused(void **state)
{
	struct scene *scene = *state;
	char longer[PATH_MAX + 16];

	assert_refused(scene, "debug/../elsewhere.debug");
	assert_refused(scene, "debug/./below/file.debug");
	assert_refused(scene, "debug//below/file.debug");
	assert_refused(scene, "debug/below/file.debug/");
	assert_refused(scene, "debug/below/..");
	assert_refused(scene, "debug.elsewhere");
	assert_int_equal(ask_broker(scene, ""), -EACCES);
	assert_int_equal(ask_broker(scene, "debug/below/file.debug"), -EACCES);
	assert_int_equal(debug_broker_open(&scene->broker, "/a\0b", 4), -EACCES);
	memset(longer, 'a', sizeof(longer) - 1);
	longer[0] = '/';
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(ask_broker(scene, longer), -EACCES);
}

static void a_path_that_leads_to_another_file_here_counts_nothing(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(unlink(scene->program), 0);
	write_file(scene, "programs/program", ELFMAG "another");
	assert_refused(scene, "programs/program.debug");
}

static void files_of_others_are_roots_and_for_everybody(void **state)
{
	struct scene *scene = *state;

	if (geteuid())
		skip();
	assert_int_equal(chown(in(scene, "programs/program.debug"), 65534, 65534), 0);
	assert_refused(scene, "programs/program.debug");
	assert_int_equal(chown(scene->program, 65534, 65534), 0);
	assert_opened(scene, "programs/program.debug");
	assert_opened(scene, "programs/.debug/program.debug");
	assert_int_equal(chmod(in(scene, "programs/.debug/program.debug"), 0600), 0);
	assert_refused(scene, "programs/.debug/program.debug");
}

/* A client of the broker, which another process serves. */
struct served_client {
	struct debug_client client;
	int fds[2]; /* of the client, of the server */
	pid_t server;
};

static void make_sockets(struct served_client *served)
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, served->fds), 0);
}

static void serve(const struct scene *scene, struct served_client *served)
{
	served->server = fork();
	if (!served->server) {
		close(served->fds[0]);
		debug_broker_serve(&scene->broker, served->fds[1]);
		_exit(0);
	}
	close(served->fds[1]);
	debug_client_init(&served->client, served->fds[0]);
}

static int open_by_client(struct served_client *served, const char *path)
{
	return served->client.opener.open(served->client.opener.context, path);
}

static void assert_client_reads(struct served_client *served, const char *path,
				const char *expected)
{
	char content[8] = "";
	int fd = open_by_client(served, path);

	assert_true(fd >= 0);
	assert_int_equal(read(fd, content, sizeof(content)), strlen(expected));
	assert_string_equal(content, expected);
	close(fd);
}

static void end_server(struct served_client *served)
{
	close(served->fds[0]);
	assert_int_equal(waitpid(served->server, NULL, 0), served->server);
}

static void a_client_gets_descriptors(void **state)
{
	struct scene *scene = *state;
	struct served_client served;

	make_sockets(&served);
	serve(scene, &served);
	assert_client_reads(&served, in(scene, "programs/program.debug"), ELFMAG "d");
	assert_true(open_by_client(&served, "/etc/passwd") < 0);
	assert_false(served.client.is_gone);
	end_server(&served);
}

/* A process that asked before was ended, and its answer comes later. */
static void an_answer_to_who_asked_before_is_passed_over(void **state)
{
	struct scene *scene = *state;
	struct {
		uint32_t number;
		char path[PATH_BYTES];
	} earlier = {.number = 1};
	struct served_client served;

	make_sockets(&served);
	strcpy(earlier.path, in(scene, "debug/below/file.debug"));
	assert_true(send(served.fds[0], &earlier, sizeof(uint32_t) + strlen(earlier.path), 0) > 0);
	strcpy(earlier.path, "/etc/passwd"); /* which is refused */
	assert_true(send(served.fds[0], &earlier, sizeof(uint32_t) + strlen(earlier.path), 0) > 0);
	serve(scene, &served);
	assert_client_reads(&served, in(scene, "programs/program.debug"), ELFMAG "d");
	end_server(&served);
}

/* On a busy machine. The late answer is passed over. */
static void a_server_that_is_late_is_asked_again(void **state)
{
	struct scene *scene = *state;
	struct served_client served;

	make_sockets(&served);
	serve(scene, &served);
	num_late = 2;
	for (int i = 0; i < 2; i++) {
		assert_client_reads(&served, in(scene, "programs/program.debug"), ELFMAG "d");
		assert_int_equal(num_late, 0);
	}
	assert_false(served.client.is_gone);
	end_server(&served);
}

static void a_server_that_does_not_answer_is_asked_three_times(void **state _unused_)
{
	struct debug_client client;
	char request[64];
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, fds), 0);
	debug_client_init(&client, fds[0]);
	num_late = 100;
	assert_true(client.opener.open(client.opener.context, "/a") < 0);
	assert_true(client.is_gone);
	for (int i = 0; i < 3; i++)
		assert_true(recv(fds[1], request, sizeof(request), 0) > 0);
	assert_true(client.opener.open(client.opener.context, "/a") < 0);
	assert_int_equal(recv(fds[1], request, sizeof(request), 0), -1);
	assert_int_equal(num_late, 97);
	num_late = 0;
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(what_is_below_a_root_is_opened),
		TEST(what_is_beside_a_mapped_file_is_opened),
		TEST(only_elf_files_are_opened),
		TEST(paths_that_lead_elsewhere_are_refused),
		TEST(a_path_that_leads_to_another_file_here_counts_nothing),
		TEST(files_of_others_are_roots_and_for_everybody),
		TEST(a_client_gets_descriptors),
		TEST(an_answer_to_who_asked_before_is_passed_over),
		TEST(a_server_that_is_late_is_asked_again),
		TEST(a_server_that_does_not_answer_is_asked_three_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
