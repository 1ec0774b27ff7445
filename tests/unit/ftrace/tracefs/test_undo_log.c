/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that are killed are children of this one. */

#include "base/system/log.h"
#include "ftrace/tracefs/undo_log.h"
#include "unit/ftrace/busy_writes.h"
#include "unit/ftrace/fake_tracefs.h"

/* fake_root is the directory; below it are tracefs as "t", the records as "s". */
static const char *root(void)
{
	return fake_path("t");
}

static const char *records(void)
{
	return fake_path("s");
}

static int open_one(const char *place, struct undo_log *r, struct err_text *e)
{
	return undo_log_open(r, records(), root(), place, e);
}

static struct setting_change *change(struct undo_log *r, const char *file, const char *was,
				     const char *is)
{
	struct setting_change *c;

	assert_int_equal(undo_log_add(r, file, was, &c), 0);
	assert_int_equal(undo_log_write_old_value(r, c), 0);
	c->new_value = is ? strdup(is) : NULL;
	assert_int_equal(undo_log_write_new_value(r, c), 0);
	return c;
}

/* Runs fn in a process that is killed then. */
static void killed_after(void (*fn)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		fn();
		raise(SIGKILL);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void change_two(void)
{
	struct undo_log r;

	if (open_one("", &r, NULL))
		_exit(1);
	change(&r, "tracing_on", "0\n", "1\n");
	change(&r, "trace_clock", "[local] boot\n", "local [boot]\n");
	change(&r, "trace_clock", "[local] boot\n", "local [boot] tai\n");
}

DIR_TEST(the_next_one_undoes)
{
	struct undo_log r;

	fake_text("t/tracing_on", "1\n");
	fake_text("t/trace_clock", "local [boot] tai\n");
	killed_after(change_two);
	assert_int_equal(access(fake_path("s/top-level"), F_OK), 0);
	assert_int_equal(undo_logs_roll_back(records(), root()), 1);
	assert_string_equal(fake_read("t/tracing_on"), "0");
	assert_string_equal(fake_read("t/trace_clock"), "local");
	assert_int_equal(access(fake_path("s/top-level"), F_OK), -1);
	assert_int_equal(undo_logs_roll_back(records(), root()), 0);

	/* Another process does the same. */
	fake_text("t/tracing_on", "1\n");
	killed_after(change_two);
	assert_int_equal(open_one("", &r, NULL), 0);
	assert_string_equal(fake_read("t/tracing_on"), "0");
	undo_log_close(&r);
}

/* The kernel may refuse a value forever; the place is not lost for that. */
DIR_TEST(what_cannot_be_undone_is_given_up)
{
	struct undo_log r;

	fake_text("t/tracing_on", "1\n");
	mkdir(fake_path("t/trace_clock"), 0755);
	killed_after(change_two);
	log_set_level(LOG_LEVEL_ERROR);
	assert_int_equal(open_one("", &r, NULL), 0);
	assert_string_equal(fake_read("t/tracing_on"), "0");
	assert_true(TAILQ_EMPTY(&r.changes));
	assert_null(strstr(fake_read("s/top-level"), "trace_clock"));
	change(&r, "trace_clock", "[local] boot\n", NULL);
	undo_log_close(&r);
	assert_int_equal(access(fake_path("s/top-level"), F_OK), -1);
}

/* What is in use now may be free later. */
DIR_TEST(a_place_that_is_busy_keeps_its_record)
{
	struct undo_log r;

	fake_text("t/tracing_on", "1\n");
	fake_text("t/trace_clock", "local [boot] tai\n");
	killed_after(change_two);
	busy_text = "0";
	assert_int_equal(open_one("", &r, NULL), -EBUSY);
	busy_text = NULL;
	fake_text("t/tracing_on", "1\n");
	assert_int_equal(open_one("", &r, NULL), 0);
	assert_string_equal(fake_read("t/tracing_on"), "0");
	undo_log_close(&r);
}

DIR_TEST(who_lives_keeps_his_place)
{
	struct undo_log r, other;
	struct err_text e;
	char pid[32];

	fake_text("t/tracing_on", "1\n");
	assert_int_equal(open_one("", &r, NULL), 0);
	change(&r, "tracing_on", "0\n", "1\n");
	assert_int_equal(undo_logs_roll_back(records(), root()), 0);
	assert_string_equal(fake_read("t/tracing_on"), "1\n");
	assert_int_equal(open_one("", &other, &e), -EBUSY);
	snprintf(pid, sizeof(pid), "pid %d", (int)getpid());
	assert_non_null(strstr(e.text, pid));

	/* Another place is free. */
	assert_int_equal(open_one("instances/x", &other, &e), 0);
	assert_int_equal(access(fake_path("s/instances:x"), F_OK), 0);
	undo_log_close(&other);
	assert_int_equal(access(fake_path("s/instances:x"), F_OK), -1);
	/* A change that could not be undone keeps the file. */
	busy_text = "0";
	undo_log_close(&r);
	busy_text = NULL;
	fake_text("t/tracing_on", "1\n");
	assert_int_equal(undo_logs_roll_back(records(), root()), 1);
	assert_string_equal(fake_read("t/tracing_on"), "0");
}

static void rewrite(void)
{
	struct setting_change *gone;
	struct undo_log r;

	if (open_one("instances/x", &r, NULL))
		_exit(1);
	change(&r, "tracing_on", "0\n", "1\n");
	change(&r, "options/raw", "0\n", "1\n");
	change(&r, "events/a/b/trigger", "", "traceoff:1 if x == 1");
	/* Held, but not changed: a later process has nothing to undo. */
	assert_int_equal(undo_log_add(&r, "trace_clock", "[local] boot\n", &gone), 0);
	gone = TAILQ_FIRST(&r.changes);
	gone->logged = false;
	undo_log_undo(&r, gone);
	assert_int_equal(undo_log_rewrite(&r), 0);
	assert_int_equal(undo_logs_roll_back(records(), root()), 0);
}

DIR_TEST(rewritten)
{
	fake_text("t/instances/x/tracing_on", "1\n");
	fake_text("t/instances/x/options/raw", "1\n");
	fake_text("t/instances/x/trace_clock", "local [boot]\n");
	fake_text("t/instances/x/events/a/b/trigger", "");
	killed_after(rewrite);
	assert_int_equal(undo_logs_roll_back(records(), root()), 1);
	assert_string_equal(fake_read("t/instances/x/tracing_on"), "1\n");
	assert_string_equal(fake_read("t/instances/x/trace_clock"), "local [boot]\n");
	assert_string_equal(fake_read("t/instances/x/options/raw"), "0");
	assert_string_equal(fake_read("t/instances/x/events/a/b/trigger"), "!traceoff:1 if x == 1");
}

/* A record by hand, of this boot, as it is written, or (word "loan") was. */
static void put_record_of(const char *word, const char *name, const char *text, size_t len)
{
	char boot[64] = "", all[1024], path[64];
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
	int n;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%63s", boot), 1);
	fclose(f);
	n = snprintf(all, sizeof(all), "sonda-%s 1 %s 1\n", word, boot);
	memcpy(all + n, text, len);
	mkdir(records(), 0700);
	snprintf(path, sizeof(path), "s/%s", name);
	fake_file(path, all, (size_t)n + len);
}

static void put_record(const char *name, const char *text, size_t len)
{
	put_record_of("undo", name, text, len);
}

DIR_TEST(a_record_with_the_old_word_is_rolled_back)
{
	static const char text[] = "was 2 tracing_on\n0\n\n";

	fake_text("t/tracing_on", "1\n");
	put_record_of("loan", "top-level", text, strlen(text));
	assert_int_equal(undo_logs_roll_back(records(), root()), 1);
	assert_string_equal(fake_read("t/tracing_on"), "0");
	put_record_of("else", "top-level", text, strlen(text));
	fake_text("t/tracing_on", "1\n");
	assert_int_equal(undo_logs_roll_back(records(), root()), 1);
	assert_string_equal(fake_read("t/tracing_on"), "1\n");
}

DIR_TEST(records_that_say_strange_things)
{
	static const char *const texts[] = {
		"was 2 ../victim\n0\n\n",
		"was 2 /victim\n0\n\n",
		"was 2 x/../../victim\n0\n\n",
		"was 99999999999 victim\n0\n\n",
		"was -1 tracing_on\n0\n\n",
		"is 2 tracing_on\n0\n\n",
		"was 2 tracing_on",
		"was",
		"",
		"\n\n\n",
		"xyz",
	};

	fake_text("victim", "1\n");
	fake_text("t/tracing_on", "1\n");
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		put_record("top-level", texts[i], strlen(texts[i]));
		assert_true(undo_logs_roll_back(records(), root()) >= 0);
		assert_string_equal(fake_read("victim"), "1\n");
		assert_string_equal(fake_read("t/tracing_on"), "1\n");
	}
	/* The end is missing: what stands before it counts. */
	put_record("top-level", "was 2 tracing_on\n0\n\nwas 10 trace_clo", 36);
	assert_int_equal(undo_logs_roll_back(records(), root()), 1);
	assert_string_equal(fake_read("t/tracing_on"), "0");
}

DIR_TEST(a_record_of_another_boot_is_ignored)
{
	fake_text("t/tracing_on", "1\n");
	mkdir(records(), 0700);
	fake_text("s/top-level",
		  "sonda-undo 1 00000000-0000-0000-0000-000000000000 1\nwas 2 tracing_on\n0\n\n");
	assert_int_equal(undo_logs_roll_back(records(), root()), 1);
	assert_string_equal(fake_read("t/tracing_on"), "1\n");
}

DIR_TEST(a_dir_of_others_is_not_believed)
{
	struct undo_log r;
	struct err_text e;

	assert_int_equal(undo_logs_roll_back(records(), root()), 0);
	mkdir(records(), 0700);
	chmod(records(), 0777);
	assert_int_equal(undo_logs_roll_back(records(), root()), -EPERM);
	assert_int_equal(open_one("", &r, &e), -EPERM);
	rmdir(records());
	assert_int_equal(symlink("/tmp", records()), 0);
	assert_int_equal(open_one("", &r, &e), -EPERM);
}

/* ---- one change ---- */

/* Undoes a change in a directory where the file reads `now`; returns what it reads then. */
static const char *undone(const char *file, const char *was, const char *is, const char *now)
{
	struct undo_log r;

	if (now)
		fake_text(file, now);
	assert_int_equal(undo_log_open(&r, NULL, fake_root, "", NULL), 0);
	assert_int_equal(undo_log_undo(&r, change(&r, file, was, is)), 0);
	undo_log_close(&r);
	return now ? fake_read(file) : NULL;
}

DIR_TEST(put_back)
{
	assert_string_equal(undone("tracing_on", "0\n", "1\n", "1\n"), "0");
	assert_string_equal(
		undone("trace_clock", "[local] boot\n", "local [boot]\n", "local [boot]\n"),
		"local");
	/* We were killed before we knew how it reads. */
	assert_string_equal(undone("tracing_on", "0\n", NULL, "1\n"), "0");
	/* Sizes are rounded by the kernel; the text is the kernel's. */
	assert_string_equal(undone("buffer_size_kb", "7 (expanded: 1408)\n", "8195\n", "8195\n"),
			    "1408");
}

DIR_TEST(others_have_changed_it_since)
{
	assert_string_equal(undone("current_tracer", "nop\n", "function_graph\n", "function\n"),
			    "function\n");
	assert_string_equal(undone("buffer_size_kb", "7\n", "8195\n", "100\n"), "100\n");
}

DIR_TEST(it_is_as_it_was)
{
	assert_string_equal(undone("tracing_on", "0\n", "1\n", "0\n"), "0\n");
	assert_string_equal(undone("tracing_on", "0\n", NULL, "0\n"), "0\n");
}

/* Threads that end leave it, so it reads otherwise than it was written. */
DIR_TEST(a_list_goes_back_however_it_reads)
{
	assert_string_equal(undone("set_event_pid", "", "1\n2\n", "2\n"), "");
	assert_string_equal(undone("set_event_pid", "7\n", "1\n2\n", "2\n"), "7\n");
}

/* Which is not as it was: no thread is traced then, where it was all of them. It is written. */
DIR_TEST(a_list_whose_threads_have_ended_goes_back)
{
	assert_string_equal(undone("set_ftrace_pid", "no pid\n", "1\n", "no pid\n"), "");
}

DIR_TEST(a_trigger_is_taken_away)
{
	assert_string_equal(undone("events/a/b/trigger", "", "stacktrace", ""), "!stacktrace");
}

DIR_TEST(what_is_not_there)
{
	assert_null(undone("nope/tracing_on", "0\n", NULL, NULL));
	/* Sizes that differ from CPU to CPU have each their own file. */
	assert_string_equal(undone("buffer_size_kb", "X\n", NULL, "1408\n"), "1408\n");
}
