#include "import_fixture.h"

#define FORMAT (&format_perf_script)

static enum detection detect(const char *text)
{
	return format_perf_script.detect((const uint8_t *)text, strlen(text));
}

static void a_sample_is_its_thread_and_its_stack(void **state _unused_)
{
	assert_stacks(FORMAT,
		      "# cmdline : perf record\n#\n"
		      "nginx 812/815 [003] 75695.008865: cycles: \n"
		      "\t  7f1e214c24d9 leaf (/usr/lib/libc.so.6)\n"
		      "\t  55d0c0de10a8 main (/usr/sbin/nginx)\n\n",
		      0, "nginx;main;leaf 1\n");
}

static void pid_and_tid_are_kept(void **state _unused_)
{
	static const char text[] = "nginx 812/815 [003] 7.5: cycles: \n\t 1 f (/x)\n\n"
				   "nginx 812/812 [003] 7.5: cycles: \n\t 1 f (/x)\n\n"
				   "other 77 [003] 7.5: cycles: \n\t 1 f (/x)\n\n";
	struct imported imported = {0};

	assert_int_equal(imported_read(&imported, FORMAT, text, strlen(text)), 0);
	assert_written(&format_folded, imported.profile,
		       (struct call_tree_opts){.root = TREE_ROOT_TID},
		       "nginx-812/812;f 1\nnginx-812/815;f 1\nother-?/77;f 1\n");
	assert_int_equal(profile_count_processes(imported.profile), 2);
	imported_release(&imported);
}

static void the_weight_is_the_period_where_one_is_printed(void **state _unused_)
{
	assert_stacks(FORMAT,
		      "a 1 1.5:     250 cycles:u: \n\t 1 f (/x)\n\n"
		      "a 1 1.6:       0 cycles:u: \n\t 1 f (/x)\n\n"
		      "a 1 1.7: cycles:u: \n\t 1 f (/x)\n\n",
		      0, "a;f 252\n");
}

static void every_event_is_a_metric(void **state _unused_)
{
	static const char text[] =
		"a 1 1.5: instructions: \n\t 1 f (/x)\n\n"
		"a 1 1.5: 1001001 cpu-clock:u: \n\t 1 g (/x)\n\n"
		"a 1 1.5: sched:sched_switch: prev_comm=a prev_pid=1\n\t 1 h (/x)\n\n";
	struct imported imported = {0};

	assert_stacks(FORMAT, text, 0, "a;f 1\n");
	assert_stacks(FORMAT, text, 1, "a;g 1001001\n");
	assert_stacks(FORMAT, text, 2, "a;h 1\n");
	assert_int_equal(imported_read(&imported, FORMAT, text, strlen(text)), 0);
	assert_string_equal(format_get_metric_name(imported.profile, 0), "instructions");
	assert_string_equal(format_get_metric_name(imported.profile, 1), "cpu-clock:u");
	assert_string_equal(format_get_metric_unit(imported.profile, 1), "nanoseconds");
	assert_string_equal(format_get_metric_name(imported.profile, 2), "sched:sched_switch");
	imported_release(&imported);
}

static void names_may_hold_blanks_and_numbers(void **state _unused_)
{
	assert_stacks(FORMAT,
		      "V8 WorkerThread 24636/25607 [000] 94564.1: cpu-clock: \n\t 1 f (/x)\n\n"
		      "Chrome 1 2345/2346 [000] 94564.1: cpu-clock: \n\t 1 f (/x)\n\n"
		      "tool 2  77 [000] 94564.1: cpu-clock: \n\t 1 f (/x)\n\n"
		      "java  3244 cpu-clock: \n\t 1 f (/x)\n\n",
		      0, "Chrome_1;f 1\nV8_WorkerThread;f 1\njava;f 1\ntool_2;f 1\n");
}

/* The time is the anchor: the ids are what precedes it, and not the first number. */
static void names_may_end_in_numbers(void **state _unused_)
{
	static const char text[] =
		"Thread 12345  2700   733.000000:    5000000 cpu-clock: \n\t 1 f (/x)\n\n"
		"worker 7  2700   733.000100:    5000000 cpu-clock: \n\t 1 f (/x)\n\n"
		"io 3 of 4  2700/2701   733.000200:    5000000 cpu-clock: \n\t 1 f (/x)\n\n"
		"pool [3] 77 [001]   733.000200:    5000000 cpu-clock: \n\t 1 f (/x)\n\n"
		"at 1.5: 78 [001] K   733.000200:    5000000 cpu-clock: \n\t 1 f (/x)\n\n"
		"(sd-pam)  79 [001] 733.000200123:    5000000 cpu-clock: \n\t 1 f (/x)\n\n"
		":-1    -1/-1    [001] 733.000200:    5000000 cpu-clock: \n\t 1 f (/x)\n\n";
	static const uint32_t tids[] = {2700, 2700, 2701, 77, 78, 79, 0};
	struct imported imported = {0};

	assert_stacks(FORMAT, text, 0,
		      "(sd-pam);f 5000000\n:-1;f 5000000\nThread_12345;f 5000000\n"
		      "at_1.5:;f 5000000\nio_3_of_4;f 5000000\npool_[3];f 5000000\n"
		      "worker_7;f 5000000\n");
	assert_int_equal(imported_read(&imported, FORMAT, text, strlen(text)), 0);
	assert_int_equal(profile_count_metrics(imported.profile), 1);
	for (uint32_t i = 0; i < ARRAY_LENGTH(tids); i++)
		assert_int_equal(profile_get_thread(imported.profile, i)->tid, tids[i]);
	imported_release(&imported);
}

/* A period has a column of ten characters, as perf 6.1 and others print it. */
static void without_a_time_the_column_of_the_period_is_known(void **state _unused_)
{
	assert_stacks(FORMAT,
		      "Thread 12345    2700     5000000 cpu-clock: \n\t 1 f (/x)\n\n"
		      "Thread 12345    2700 cpu-clock: \n\t 1 f (/x)\n\n"
		      "Thread 12345 29608 cpu-clock: \n\t 1 f (/x)\n\n"
		      "Thread 12345 29608/29608    5000000 cpu-clock: \n\t 1 f (/x)\n\n"
		      "plain    2700     5000000 cpu-clock: \n\t 1 f (/x)\n\n",
		      0, "Thread_12345;f 10000002\nplain;f 5000000\n");
}

static void the_period_counts_without_an_event(void **state _unused_)
{
	assert_stacks(FORMAT, "a 1   1.500000:     250000 \n\t 12 f (/x)\n\n", 0, "a;f 250000\n");
	assert_stacks(FORMAT, "a 1   1.500000:     250000     7f1e main+0x1 (/x)\n", 0,
		      "a;main 250000\n");
	assert_stacks(FORMAT, "a 1   1.500000:     7f1e main+0x1 (/x)\n", 0, "a;main 1\n");
}

static void names_of_events_may_have_blanks(void **state _unused_)
{
	struct imported imported = {0};
	static const char text[] =
		"a 1 [000] 1.500000:  10 raw 0x1a8: \n\t 12 f (/x)\n\n"
		"a 1 [000] 1.500000:  10 cpu/name=My Event/u: \n\t 12 f (/x)\n\n";

	assert_int_equal(imported_read(&imported, FORMAT, text, strlen(text)), 0);
	assert_string_equal(format_get_metric_name(imported.profile, 0), "raw 0x1a8");
	assert_string_equal(format_get_metric_name(imported.profile, 1), "cpu/name=My Event/u");
	imported_release(&imported);
}

/* Numbers, colons and brackets of a tracepoint's text are no fields of the header. */
static void the_text_of_a_tracepoint_is_no_frame(void **state _unused_)
{
	assert_stacks(FORMAT,
		      "x 42 [004] 60.086803: kmem:kmalloc: (unsigned long) call_site=ffffffff81\n"
		      "\tffffffff811c2f81 __kmalloc+0x1b1 ([kernel.kallsyms])\n"
		      "\t          45f2a3 do_it: 12 (/usr/bin/xx:y)\n\n"
		      "x 42 [004] 60.086803: kmem:kmalloc: dead beef 12 77.000000: cycles: (x)\n"
		      "\t          45f2a3 do_it: 12 (/usr/bin/xx:y)\n\n",
		      0, "x;do_it: 12 1\nx;do_it: 12;__kmalloc_[k] 1\n");
}

/* Names are printed with blanks before them; a text may end as a source line does. */
static void headers_may_end_like_source_lines(void **state _unused_)
{
#define TWICE(line) line line
	assert_stacks(
		FORMAT,
		TWICE("           nginx   812 [001] 1.394013: tcp:retransmit: daddrv6=fe80::2\n") TWICE(
			"           nginx   812 [001] 1.394013: tcp:retransmit: bdi 8:0\n")
			TWICE("           nginx   812 [001] 1.394013: tcp:retransmit: arg=x[1a8]\n"),
		0, "nginx 6\n");
}

static void the_header_may_hold_the_thread_alone(void **state _unused_)
{
	assert_stacks(FORMAT, "a 1 \n\t 12 f (/x)\n\nb c 1/2 \n\t 13 g (/x)\n\n", 0,
		      "a;f 1\nb_c;g 1\n");
}

static void a_sample_without_stack_is_its_thread(void **state _unused_)
{
	assert_stacks(FORMAT, "a 1 1.5: cycles: \n\nb 1 1.5: cycles: \n\n", 0, "a 1\nb 1\n");
}

static void without_call_chains_a_sample_is_one_line(void **state _unused_)
{
	assert_stacks(FORMAT,
		      "            perf  3233 [000]  1.5:   7 cycles:  ffffffff8104f45a "
		      "native_write_msr+0x4 ([kernel.kallsyms])\n"
		      "              dd  3234 [000]  1.6:   5 cycles:  7f1e214c24d9 "
		      "read (/usr/lib/libc.so.6)\n",
		      0, "dd;read 5\nperf;native_write_msr_[k] 7\n");
}

static void a_comm_that_looks_like_an_address_is_none(void **state _unused_)
{
	assert_stacks(&format_perf_script,
		      "            perf 10/10 [000] 39.1: sched:sched_switch: prev_comm=perf\n"
		      "             cc1 11/11 [000] 39.2: sched:sched_switch: prev_comm=cc1\n"
		      "             cc1 11/11 [000] 39.3: sched:sched_switch: prev_comm=cc1\n",
		      0, "cc1 2\nperf 1\n");
}

static void a_thread_may_be_known_by_its_ids_alone(void **state _unused_)
{
	struct imported imported = {0};
	const char *text = "10/12 39.5: cpu-clock: \n\t11b1 leaf (/bin/w)\n\n";
	struct thread thread;

	assert_int_equal(format_perf_script.detect((const uint8_t *)text, strlen(text)),
			 DETECTED_SURE);
	assert_int_equal(imported_read(&imported, &format_perf_script, text, strlen(text)), 0);
	thread = *profile_get_thread(imported.profile, 0);
	assert_int_equal(thread.tid, 12);
	assert_int_equal(profile_get_process(imported.profile, thread.process)->pid, 10);
	assert_string_equal(profile_get_string(imported.profile, thread.comm), "");
	imported_release(&imported);
}

/* What Go prints of its heap has colons and numbers, too. */
static void other_texts_are_not_taken_for_it(void **state _unused_)
{
	const char *text = "heap profile: 104: 3234304 [242292: 24788768] @ heap/8192\n"
			   "79: 808960 [79: 808960] @ 0x4b7a7d 0x4b6bc3\n";

	assert_int_equal(format_perf_script.detect((const uint8_t *)text, strlen(text)),
			 DETECTED_NOT);
}

static void frames_of_the_kernel_and_of_jit_code_are_marked(void **state _unused_)
{
	assert_stacks(FORMAT,
		      "a 1 1.5: cycles: \n"
		      "\t ffffffff81 a (/lib/modules/x/vmlinux)\n"
		      "\t ffffffff82 b ([ext4])\n"
		      "\t ffffffff83 c ([kernel.kallsyms])\n"
		      "\t 7f d (/tmp/perf-77.map)\n"
		      "\t 7e e (/tmp/perf-x.map)\n\n",
		      0, "a;e;d_[j];c_[k];b_[k];a_[k] 1\n");
}

static void files_of_the_kernel_and_of_jit_code_have_many_names(void **state _unused_)
{
	assert_stacks(FORMAT,
		      "a 1 1.5: cycles: \n"
		      "\t ffffffff81 a (/usr/lib/debug/boot/vmlinux-6.1.0-13-amd64)\n"
		      "\t ffffffff82 b ([guest.kernel.kallsyms])\n"
		      "\t ffffffff83 c (/lib/modules/6.1.0/kernel/fs/ext4/ext4.ko.xz)\n"
		      "\t 7d d (/root/.debug/jit/x.0/jitted-77-12.so)\n"
		      "\t 7e e (/proc/7/root/tmp/perf-77.map)\n"
		      "\t 7f f ([JIT] tid 77)\n"
		      "\t 80 g (/opt/vmlinuxed)\n"
		      "\t 81 h (/opt/jitted-x-1.so)\n\n",
		      0, "a;h;g;f_[j];e_[j];d_[j];c_[k];b_[k];a_[k] 1\n");
}

static void unknown_frames_are_named_by_their_file(void **state _unused_)
{
	assert_stacks(FORMAT,
		      "a 1 1.5: cycles: \n"
		      "\t ffffffff81 [unknown] ([kernel.kallsyms])\n"
		      "\t 82 [unknown] (/usr/lib/libc.so.6)\n"
		      "\t 83 [unknown] ([unknown])\n\n",
		      0, "a;[unknown];[libc.so.6];[[kernel.kallsyms]]_[k] 1\n");
}

static void offsets_arguments_and_quotes_are_stripped(void **state _unused_)
{
	assert_stacks(FORMAT,
		      "a 1 1.5: cycles: \n"
		      "\t 1 plain+0x800047c022ec (/x)\n"
		      "\t 2 Foo<int>::bar(int, char) const (/x)\n"
		      "\t 3 (anonymous namespace)::baz(int) (/x)\n"
		      "\t 4 ns::(anonymous namespace)::boo() (/x)\n"
		      "\t 5 net/http.(*Client).Do (/x)\n"
		      "\t 6 RegExp:[&<>\\\"\\'] (/tmp/perf-7.map)\n"
		      "\t 7 a;b (/x)\n"
		      "\t 8 gone+0x1 (/x (deleted))\n\n",
		      0,
		      "a;gone;a:b;RegExp:[&<>\\\\]_[j];net/http.(*Client).Do;"
		      "ns::(anonymous namespace)::boo;"
		      "(anonymous namespace)::baz;Foo<int>::bar;plain 1\n");
}

static void inlined_functions_are_frames_of_their_own(void **state _unused_)
{
	assert_stacks(FORMAT,
		      "java 1 1.5: cycles: \n"
		      "\t 1 Lorg/A;::a->Lorg/B;::b->Lorg/C;::c (/tmp/perf-1.map)\n"
		      "\t 2 operator->+0x3 (/x)\n"
		      "\t 3 small (inlined)\n\n",
		      0, "java;small_[i];operator->;org/A:::a_[j];org/B:::b_[i];org/C:::c_[i] 1\n");
}

static void only_java_loses_the_leading_l(void **state _unused_)
{
	assert_stacks(FORMAT,
		      "java 1 1.5: cycles: \n\t 1 Lorg/A;::a (/tmp/perf-1.map)\n\t 2 Large (/x)\n\n"
		      "node 2 1.5: cycles: \n\t 1 Lorg/A;::a (/tmp/perf-1.map)\n\n",
		      0, "java;Large;org/A:::a_[j] 1\nnode;Lorg/A:::a_[j] 1\n");
}

static void a_frame_keeps_its_file_and_its_whole_name(void **state _unused_)
{
	static const char text[] = "a 1 1.5: cycles: \n\t 1 f(int)+0x1 (/usr/lib/libx.so.1)\n\n";
	struct imported imported = {0};
	const struct frame *frame;

	assert_int_equal(imported_read(&imported, FORMAT, text, strlen(text)), 0);
	frame = profile_get_frame(imported.profile, 0);
	assert_string_equal(profile_get_string(imported.profile, frame->name), "f");
	assert_string_equal(profile_get_string(imported.profile, frame->full_name), "f(int)");
	assert_string_equal(profile_get_string(imported.profile, frame->module), "libx.so.1");
	imported_release(&imported);
}

static void processes_of_a_frame_and_source_lines_are_skipped(void **state _unused_)
{
	assert_stacks(FORMAT,
		      "a 1 1.5: cycles: \r\n\t 1 f+0x1 (/x)\r\n  file.c:12\r\n"
		      "\t 2 (deleted) (/x)\r\n\t 3 main (/x)\r\n"
		      "  file.c:12 (discriminator 3)\r\n\t 3 main (/x)\r\n  x[1a8]\r\n\r\n",
		      0, "a;main;main;f 1\n");
}

static void side_band_records_are_no_samples(void **state _unused_)
{
	static const char text[] = "a 1/1 [000] 1.4: PERF_RECORD_COMM exec: a:1/1\n"
				   "a 1/1 [000] 1.5: cycles: \n\t 1 f (/x)\n\n"
				   "a 1/1 [000] 1.6: PERF_RECORD_LOST lost 17\n";
	struct imported imported = {0};

	assert_int_equal(imported_read(&imported, FORMAT, text, strlen(text)), 0);
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){0}, "a;f 1\n");
	assert_int_equal(imported.import.counts.lost_samples, 17);
	assert_string_equal(imported.warnings.data, "");
	imported_release(&imported);
}

static void messages_between_samples_are_skipped_with_one_warning(void **state _unused_)
{
	static const char sample[] = "a 1 [000] 1.500000: cycles: \n\t 1 f (/x)\n\n";
	char text[1024];

	assert_warned(FORMAT, "a 1 1.5: cycles: \n\t 1 f (/x)\n\nhello\n\t 12 stray (/x)\n",
		      "FILE: 2 lines are neither headers nor frames of a sample, skipping; the "
		      "first is line 4\n",
		      "a;f 1\n");
	snprintf(text, sizeof(text),
		 "%s instruction trace error type 1 time 45.744123981 cpu 0 pid 77 tid 77 ip 0 "
		 "code 8: Lost trace data\nProcessed 412 events and lost 3 chunks!\n"
		 "Processed 412 events:\n%s",
		 sample, sample);
	assert_warned(FORMAT, text,
		      "FILE: 3 lines are neither headers nor frames of a sample, skipping; the "
		      "first is line 4\n",
		      "a;f 2\n");
	/* The frames belong to the header before the message. */
	assert_warned(FORMAT, "a 1 1.5: cycles: \nlost 3 chunks!\n\t 1 f (/x)\n\n",
		      "FILE: 1 line is neither the header nor a frame of a sample, skipping; the "
		      "first is line 2\n",
		      "a;f 1\n");
}

/* As where 2>&1 has put what perf reports into the file. */
static void messages_may_precede_the_samples(void **state _unused_)
{
	static const char *const messages[] = {
		" instruction trace error type 1 time 45.744123981 cpu 0 pid 77 tid 77 ip 0 code 8: "
		"Lost trace data\n",
		"Warning:\nProcessed 412 events and lost 3 chunks!\n\nCheck IO/CPU overload!\n\n",
		"[ perf record: Woken up 1 times to write data ]\n"
		"[ perf record: Captured and wrote 0.1 MB perf.data (4 samples) ]\n",
	};
	static const char *const samples[] = {
		"demo  77 [000]   10.000000:      1000 cycles:u: \n\t    7f work+0x1 (/x)\n\n",
		"demo  77   10.000000:      1000 cycles:u: \n\t    7f work+0x1 (/x)\n\n",
		"demo  77   10.000000:      1000 \n\t    7f work+0x1 (/x)\n\n",
		"demo  77 [000]   10.000000123:      1000 cycles:u:  7f work+0x1 (/x)\n",
	};

	for (size_t i = 0; i < ARRAY_LENGTH(messages); i++) {
		for (size_t j = 0; j < ARRAY_LENGTH(samples); j++) {
			struct imported imported = {0};
			char text[512];

			snprintf(text, sizeof(text), "%s%s", messages[i], samples[j]);
			assert_int_equal(detect(text), DETECTED_MAYBE);
			assert_int_equal(imported_read(&imported, FORMAT, text, strlen(text)), 0);
			assert_written(&format_folded, imported.profile, (struct call_tree_opts){0},
				       "demo;work 1000\n");
			assert_counted(&imported);
			assert_int_equal(imported.import.counts.warnings, 1);
			imported_release(&imported);
		}
		assert_int_equal(detect(messages[i]), DETECTED_NOT);
	}
	assert_int_equal(detect("some log\nworker 12 1.5: started: yes\n"), DETECTED_NOT);
	assert_int_equal(detect("some log\nworker 12 1.500000: started: yes\nmore\n"),
			 DETECTED_NOT);
}

#define MAY_BE_TRUNCATED "its stack may be truncated\n"
#define IS_UNENDED       "does not end in a line feed: the file may be truncated\n"

/* perf ends it by a blank line. A text that was copied may lack it, or may be truncated. */
static void the_last_sample_without_a_blank_line_is_reported(void **state _unused_)
{
	assert_warned(FORMAT, "a 1 1.5: cycles: \n\t 1 f (/x)\n\na 1 1.5: cycles: \n\t 1 g (/x)\n",
		      "FILE: no blank line follows the last sample, at line 5: " MAY_BE_TRUNCATED,
		      "a;f 1\na;g 1\n");
	assert_warned(FORMAT, "a 1 1.5: cycles: \n\t 1 f (/x)\n\t 2 main (/x)",
		      "FILE: line 3, the last one, " IS_UNENDED
		      "FILE: no blank line follows the last sample, at line 3: " MAY_BE_TRUNCATED,
		      "a;main;f 1\n");
	assert_warned(FORMAT, "a 1 1.5: cycles: \n\t 1 f (/x)\n\nb 1 1.5: cycles: \n",
		      "FILE: no blank line follows the last sample, at line 4: " MAY_BE_TRUNCATED,
		      "a;f 1\nb 1\n");
}

/* As a tool leaves them that drops blank lines, and perf without stacks. */
static void samples_may_lack_blank_lines(void **state _unused_)
{
	assert_stacks(FORMAT, "a 1 1.5: cycles: \n\t 1 f (/x)\na 1 1.5: cycles: \n\t 1 g (/x)\n", 0,
		      "a;f 1\na;g 1\n");
	assert_stacks(FORMAT, "a 1 1.5: cycles: \nb 1 1.6: cycles: \n", 0, "a 1\nb 1\n");
}

/* As in perf's text of 2014, or where an editor took the blanks. */
static void frames_may_start_without_blanks(void **state _unused_)
{
	assert_stacks(FORMAT,
		      "\njava 19983 cycles:\n"
		      "ffffffff8103d0ca native_write_msr_safe ([kernel.kallsyms])\n"
		      "7f7241fbe6d8 Desc::base(BasicType) const (/usr/lib/libjvm.so)\n"
		      "7f722d12e1d4 LBusy;::main (/tmp/perf-19982.map)\n\n"
		      "cafe 12 cycles:\n"
		      "7f72432b4e9a start_thread (/lib/libpthread-2.15.so)\n"
		      "cafe 12 cycles:\n"
		      "7f72432b4e9b start_thread\n",
		      0,
		      "cafe;start_thread 2\n"
		      "java;LBusy:::main_[j];Desc::base;native_write_msr_safe_[k] 1\n");
	assert_stacks(FORMAT,
		      "cc1 11/11 [000] 39.3: cycles: \n7f f (/x)\n"
		      "cc1 11/11 [000] 39.3: cycles: \n7f f (/x)\n",
		      0, "cc1;f 2\n");
}

static void brackets_within_a_name_do_not_end_it(void **state _unused_)
{
	assert_stacks(FORMAT,
		      "a 1 1.5: cycles: \n"
		      "\t 1 std::_Function_handler<int (int, int), "
		      "main::{lambda(int, int)#1}>::_M_invoke (/x)\n"
		      "\t 2 std::function<int (int, int)>::operator() (/x)\n"
		      "\t 3 std::function<int (int, int)>::operator()(int, int) const+0x7 (/x)\n"
		      "\t 4 main(int, char**)::{lambda()#1}::operator()() const (/x)\n"
		      "\t 5 <(A, B) as Trait>::call (/x)\n"
		      "\t 6 ns::operator<(ns::T, ns::T) (/x)\n"
		      "\t 7 ns::operator<< <int>(ns::T&, int) (/x)\n"
		      "\t 8 T::operator->() const (/x)\n"
		      "\t 9 RegExp:<(a) (/x)\n\n",
		      0,
		      "a;RegExp:<;T::operator->;ns::operator<< <int>;ns::operator<;"
		      "<(A, B) as Trait>::call;main(int, char**)::{lambda()#1}::operator();"
		      "std::function<int (int, int)>::operator();"
		      "std::function<int (int, int)>::operator();"
		      "std::_Function_handler<int (int, int), "
		      "main::{lambda(int, int)#1}>::_M_invoke 1\n");
}

/* -F ip,sym prints no file; -F +dsoff its offset, too. */
static void the_file_is_what_the_line_ends_in(void **state _unused_)
{
	static const char text[] = "a 1 1.5: cycles: \n"
				   "\t 1 std::function<int (int, int)>::operator()\n"
				   "\t 2 f(int (*)(int))\n"
				   "\t 3 g (/opt/My App (x86)/a.so)\n"
				   "\t 4 h (/opt/a)b.so)\n"
				   "\t 5 i (/tmp/c.so (deleted))\n"
				   "\t 6 j+0x2 (/usr/lib/libc.so.6+0x28a40)\n"
				   "\t 7 [unknown] ([kernel.kallsyms])\n\n";
	static const char *const modules[] = {
		"", "", "a.so", "a)b.so", "c.so", "libc.so.6", "[kernel]",
	};
	struct imported imported = {0};

	assert_stacks(FORMAT, text, 0,
		      "a;[[kernel.kallsyms]]_[k];j;i;h;g;f;"
		      "std::function<int (int, int)>::operator() 1\n");
	assert_int_equal(imported_read(&imported, FORMAT, text, strlen(text)), 0);
	for (uint32_t i = 0; i < ARRAY_LENGTH(modules); i++)
		assert_string_equal(
			profile_get_string(imported.profile,
					   profile_get_frame(imported.profile, i)->module),
			modules[i]);
	imported_release(&imported);
}

/* As perf report has them: cycles counts what cycles:u counts, too, so that their sum is nothing. */
static void an_event_with_other_modifiers_is_another_metric(void **state _unused_)
{
	static const char text[] = "  a 1 1.1: 2 cycles:u:  7f10 f (/x)\n"
				   "  a 1 1.2: 3 cycles:      7f20 g (/x)\n"
				   "  a 1 1.3: 4 cycles:u:  7f10 f (/x)\n";

	assert_stacks(FORMAT, text, 0, "a;f 6\n");
	assert_stacks(FORMAT, text, 1, "a;g 3\n");
}

static void the_first_malformed_line_ends_a_strict_import(void **state _unused_)
{
	static const char text[] = "a 1 1.5: cycles: \n\t 1 f (/x)\n\nhello\n";
	struct imported imported = {.import.is_strict = true};

	assert_int_equal(imported_read(&imported, FORMAT, text, strlen(text)), -EBADMSG);
	assert_string_equal(imported.import.error.message,
			    "FILE:4: neither the header nor a frame of a sample");
	imported_release(&imported);
}

static void a_sum_beyond_64_bits_is_refused(void **state _unused_)
{
	assert_refused(FORMAT,
		       "a 1 1.5: 18446744073709551615 cycles: \n\t 1 f (/x)\n\n"
		       "a 1 1.5: 1 cycles: \n\t 1 f (/x)\n\n",
		       "FILE: at byte 83: the weights of a stack exceed 64 bits");
}

static void a_text_without_samples_is_refused(void **state _unused_)
{
	assert_refused(FORMAT, "", "FILE:1: no sample found");
	assert_refused(FORMAT, "# comment\n\n", "FILE:2: no sample found");
}

static void the_format_is_known_by_its_content(void **state _unused_)
{
	assert_int_equal(detect("# cmdline\n\na 1 1.5: cycles: \n\t 12f f (/x)\n"), DETECTED_SURE);
	assert_int_equal(detect("java 3244 cpu-clock: \n\t 12f f (/x)\n"), DETECTED_SURE);
	assert_int_equal(detect("java 3244/3250 \n\t 12f f (/x)\n"), DETECTED_SURE);
	assert_int_equal(detect("\njava 19983 cycles:\n12f f (/x)\n"), DETECTED_SURE);
	assert_int_equal(detect("main;foo 12 \nmain;bar 5 \n"), DETECTED_NOT);
	assert_int_equal(detect("main;foo 12\nmain;bar 5\n"), DETECTED_NOT);
	assert_int_equal(detect("# hello 5\nthread 12 5\n"), DETECTED_NOT);
	assert_int_equal(detect(""), DETECTED_NOT);
	assert_int_equal(detect("{\"name\": \"root\"}"), DETECTED_NOT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_is_its_thread_and_its_stack),
		cmocka_unit_test(pid_and_tid_are_kept),
		cmocka_unit_test(the_weight_is_the_period_where_one_is_printed),
		cmocka_unit_test(every_event_is_a_metric),
		cmocka_unit_test(names_may_hold_blanks_and_numbers),
		cmocka_unit_test(names_may_end_in_numbers),
		cmocka_unit_test(without_a_time_the_column_of_the_period_is_known),
		cmocka_unit_test(the_period_counts_without_an_event),
		cmocka_unit_test(names_of_events_may_have_blanks),
		cmocka_unit_test(the_text_of_a_tracepoint_is_no_frame),
		cmocka_unit_test(headers_may_end_like_source_lines),
		cmocka_unit_test(the_header_may_hold_the_thread_alone),
		cmocka_unit_test(a_sample_without_stack_is_its_thread),
		cmocka_unit_test(without_call_chains_a_sample_is_one_line),
		cmocka_unit_test(a_comm_that_looks_like_an_address_is_none),
		cmocka_unit_test(a_thread_may_be_known_by_its_ids_alone),
		cmocka_unit_test(other_texts_are_not_taken_for_it),
		cmocka_unit_test(frames_of_the_kernel_and_of_jit_code_are_marked),
		cmocka_unit_test(files_of_the_kernel_and_of_jit_code_have_many_names),
		cmocka_unit_test(unknown_frames_are_named_by_their_file),
		cmocka_unit_test(offsets_arguments_and_quotes_are_stripped),
		cmocka_unit_test(inlined_functions_are_frames_of_their_own),
		cmocka_unit_test(only_java_loses_the_leading_l),
		cmocka_unit_test(a_frame_keeps_its_file_and_its_whole_name),
		cmocka_unit_test(processes_of_a_frame_and_source_lines_are_skipped),
		cmocka_unit_test(side_band_records_are_no_samples),
		cmocka_unit_test(messages_between_samples_are_skipped_with_one_warning),
		cmocka_unit_test(messages_may_precede_the_samples),
		cmocka_unit_test(the_last_sample_without_a_blank_line_is_reported),
		cmocka_unit_test(samples_may_lack_blank_lines),
		cmocka_unit_test(frames_may_start_without_blanks),
		cmocka_unit_test(brackets_within_a_name_do_not_end_it),
		cmocka_unit_test(the_file_is_what_the_line_ends_in),
		cmocka_unit_test(an_event_with_other_modifiers_is_another_metric),
		cmocka_unit_test(the_first_malformed_line_ends_a_strict_import),
		cmocka_unit_test(a_sum_beyond_64_bits_is_refused),
		cmocka_unit_test(a_text_without_samples_is_refused),
		cmocka_unit_test(the_format_is_known_by_its_content),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
