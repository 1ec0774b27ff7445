/* SPDX-License-Identifier: Apache-2.0 */

#include "procfs/sys/sys_file.h"
#include "unit/procfs/sys_rig.h"
#include "unit/procfs/captured_log.h"

/* Files that a config names. The folder of the test is both /proc and /sys. */

static Pb__SysStatsConfig__File rows[70], *files[70];

static void ask(size_t i, const char *path)
{
	pb__sys_stats_config__file__init(&rows[i]);
	rows[i].path = (char *)(uintptr_t)path;
	files[i] = &rows[i];
	stats.files = files;
	stats.n_files = i + 1;
}

FIXTURE_TEST(each_number_is_a_counter_of_its_file)
{
	char *wanted[] = {(char[]){"TCP *"}};

	rig_file("loadavg", "0.52 1.00 0.59 2/345 12345\n");
	rig_file("net/sockstat", "sockets: used 200\nTCP: inuse 5 orphan 0\nTCP: inuse 9\n");
	rig_file("kernel/mm/ksm/pages_shared", "42");
	ask(0, "/proc/loadavg");
	ask(1, "/proc/net/sockstat");
	rows[1].counters = wanted;
	rows[1].n_counters = 1;
	ask(2, "/sys/kernel/mm/ksm/pages_shared");
	rig_poll(&sys_files);
	assert_true(rig_has("extra files loadavg 0.52") && rig_has("extra files loadavg 2 1"));
	assert_true(rig_has("extra files loadavg 5 12345"));
	/* Of two by one name the first. */
	assert_true(rig_has("extra files TCP inuse 5") && rig_has("extra files TCP orphan 0"));
	assert_true(rig_has("extra files pages_shared 42"));
	assert_int_equal(rig_lines(), 7);
}

FIXTURE_TEST(lines_may_appear_disappear_and_move)
{
	void *s;

	rig_file("stats", "a 1\nb 2\nc 3\n");
	ask(0, "/proc/stats");
	s = rig_open(&sys_files);
	rig_passes(&sys_files, s, 1);
	rig_file("stats", "c 4\nnew 5\na 6\n");
	rig_passes(&sys_files, s, 1);
	assert_true(rig_has("extra files c 4") && rig_has("extra files new 5"));
	assert_true(rig_has("extra files a 6"));
	assert_int_equal(rig_lines(), 3);
	assert_int_equal(poll_state.extras.n, 4);
	rig_close(&sys_files, s);
}

/* We may read more than who wrote the config. */
FIXTURE_TEST(files_not_readable_by_everybody_are_not_read)
{
	static const char *const paths[] = {
		"/etc/passwd", "/proc/self/stat", "/proc/1/stat", "/proc/thread-self/stat",
		"/proc/../x",  "/proc/./self/x",  "/proc//1/x",	  "/proc/a/",
		"/proc",       "/proc/",	  "/process",	  "",
		"/sys/a/../b", "/proc/secret",	  "/proc/folder", "/proc/elsewhere",
	};
	const size_t n = ARRAY_SIZE(paths);
	char path[256];
	void *s;

	rig_file("secret", "1\n");
	snprintf(path, sizeof(path), "%s/secret", proc_root);
	assert_int_equal(chmod(path, 0600), 0);
	rig_file("folder/x", "1\n");
	/* Of another file system, such as tracefs below /sys. */
	snprintf(path, sizeof(path), "%s/elsewhere", proc_root);
	assert_int_equal(symlink("/proc/version", path), 0);
	for (size_t i = 0; i < n; i++)
		ask(i, paths[i]);
	s = rig_open(&sys_files);
	capture_log();
	rig_passes(&sys_files, s, 1);
	assert_int_equal(captured(strerror(EPERM)), n);
	assert_int_equal(rig_lines(), n);
	assert_null(strstr(said, "extra"));
	/* Said once, and no packet at each tick. */
	rig_passes(&sys_files, s, 20);
	assert_int_equal(fake.n, 0);
	assert_int_equal(poll_state.fds, 0);
	rig_close(&sys_files, s);
}

FIXTURE_TEST(a_file_that_is_no_file_of_numbers)
{
	char *large = malloc(70001);

	memset(large, '1', 70000);
	large[70000] = '\0';
	rig_file("words", "[always] madvise never\n");
	rig_file("empty", "");
	rig_file("large", large);
	rig_file("good", "5\n");
	ask(0, "/proc/words");
	ask(1, "/proc/empty");
	ask(2, "/proc/large");
	ask(3, "/proc/missing");
	ask(4, "/proc/good");
	rig_poll(&sys_files);
	assert_true(rig_has("extra files good 5"));
	assert_int_equal(rig_lines(), 5);
	free(large);
}

FIXTURE_TEST(limits_are_logged)
{
	size_t len;
	char *text;
	FILE *out = open_memstream(&text, &len);
	void *s;

	for (int i = 0; i < 600; i++)
		fprintf(out, "n%d %d\n", i, i);
	fclose(out);
	rig_file("many", text);
	free(text);
	for (size_t i = 0; i < 70; i++)
		ask(i, i ? "/proc/one" : "/proc/many");
	rig_file("one", "1\n");
	capture_log();
	s = rig_open(&sys_files);
	assert_int_equal(captured("6 of 70 are skipped"), 1);
	capture_log();
	rig_passes(&sys_files, s, 3);
	assert_int_equal(captured("/proc/many has more than 512 numbers"), 1);
	assert_true(rig_has("extra files n511 511"));
	assert_false(rig_has("extra files n512 512"));
	rig_close(&sys_files, s);
}

FIXTURE_TEST(names_without_a_match_are_logged)
{
	char *wanted[] = {(char[]){"a"}, (char[]){"b"}};

	rig_file("stats", "a 1\n");
	ask(0, "/proc/stats");
	rows[0].counters = wanted;
	rows[0].n_counters = 2;
	capture_log();
	rig_poll(&sys_files);
	assert_int_equal(captured("/proc/stats: nothing matches 'b' so far"), 1);
}

FIXTURE_TEST(without_files)
{
	rig_poll(&sys_files);
	assert_int_equal(fake.n, 0);
}
