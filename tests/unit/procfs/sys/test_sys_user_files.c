/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a config names: each number in them is a counter. */
#include "procfs/sys/file_numbers.h"
#include "unit/procfs/captured_log.h"
#include "unit/procfs/sys_rig.h"

static Pb__SysStatsConfig__File rows[70], *files[70];

static void add_file(size_t i, const char *path)
{
	pb__sys_stats_config__file__init(&rows[i]);
	rows[i].path = (char *)(uintptr_t)path;
	files[i] = &rows[i];
	stats.files = files;
	stats.n_files = i + 1;
}

/* Records the text of a file, of a kernel or another one. */
static void record_file(const char *text, size_t len)
{
	proc_put(text, len, "file");
	add_file(0, "/proc/file");
	rig_poll(&sys_files);
}

FIXTURE_TEST(names_are_made_of_the_words_before_the_number)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"1539000\n", "file 1539000"},
		{"-40000", "file -40000"},
		{"0.52 1.00 0.59 2/345 12345\n", "file 0.52|file 2 1|file 3 0.59|file 5 12345"},
		{"pgfault 12\npgmajfault 3\n", "pgfault 12|pgmajfault 3"},
		{"VmRSS:\t    4096 kB\nVmHWM: 1 kB\n", "VmRSS 4096|VmHWM 1"},
		{"TCP: inuse 5 orphan 0\nUDP: inuse 2\nTCP: inuse 9\n", /* the first one counts */
		 "TCP inuse 5|TCP orphan 0|UDP inuse 2"},
		{"cpu0 1 2\n", "cpu0 1|cpu0 2 2"},
		{"some avg10=0.12 total=8\nfull total=-\n", "some avg10 0.12|some total 8"},
		{"254:0 rbytes=5 x=\n", "rbytes 5"},
		{"  0:   44 7 IO-APIC 2-edge timer\n", "0 44|0 2 7"},
		{"ON\nrate is 5 per 7 s\n", "rate is 5|per 7"},
		{"a b: c 1 d 2\n", "a b c 1|d 2"},
	};
	static const char invalid[] = "\0=1 a\0b 5 c 6\n";
	char want[256];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t n = 0;
		char copy[128];

		snprintf(copy, sizeof(copy), "%s", cases[i].want);
		for (char *save, *w = strtok_r(copy, "|", &save); w; w = strtok_r(NULL, "|", &save))
			n += (size_t)snprintf(want + n, sizeof(want) - n, "extra files %s\n", w);
		record_file(cases[i].text, strlen(cases[i].text));
		rig_expect(want, cases[i].text, (int)i);
	}
	record_file(invalid, sizeof(invalid) - 1);
	assert_said("extra files file 3 5\nextra files c 6\n");
}

FIXTURE_TEST(texts_without_a_number)
{
	static const char *const texts[] = {
		"", "\n\n", "[always] madvise never\n", "0x12 1e5 1.2.3\n", "a=b =5 =\n", ":\n"};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		record_file(texts[i], strlen(texts[i]));
		assert_said("failed files\n");
	}
}

/* Numbers with a longer name are skipped. */
FIXTURE_TEST(names_that_are_too_long)
{
	char text[400];

	memset(text, 'n', sizeof(text));
	memcpy(text + 300, " 1 k=2 m 3\nok 4\n", 17);
	record_file(text, 317);
	assert_said("extra files m 3\nextra files ok 4\n");
	/* The longest possible one. */
	memcpy(text + FILE_NUMBER_NAME_SIZE - 1, " 5\n", 3);
	record_file(text, FILE_NUMBER_NAME_SIZE + 2);
	assert_int_equal(strlen(said), strlen("extra files  5\n") + FILE_NUMBER_NAME_SIZE - 1);
}

FIXTURE_TEST(files_of_proc_and_sys_and_chosen_counters)
{
	char *wanted[] = {(char[]){"TCP *"}};

	rig_file("net/sockstat", "sockets: used 200\nTCP: inuse 5 orphan 0\n");
	rig_file("kernel/mm/ksm/pages_shared", "42");
	add_file(0, "/proc/net/sockstat");
	rows[0].counters = wanted;
	rows[0].n_counters = 1;
	add_file(1, "/sys/kernel/mm/ksm/pages_shared");
	assert_poll(&sys_files, "extra files TCP inuse 5\nextra files TCP orphan 0\n"
				"extra files pages_shared 42\n");
}

FIXTURE_TEST(lines_may_appear_disappear_and_move)
{
	void *s;

	rig_file("stats", "a 1\nb 2\nc 3\n");
	add_file(0, "/proc/stats");
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

/* sonda-probes may read more than the author of the config. */
FIXTURE_TEST(files_not_readable_by_everybody_are_not_read)
{
	static const char *const paths[] = {
		"/etc/passwd", "/proc/self/stat", "/proc/1/stat",    "/proc/thread-self/stat",
		"/proc/../x",  "/proc/./self/x",  "/proc//1/x",	     "/proc/a/",
		"/proc",       "/proc/",	  "/process",	     "",
		"/sys/a/../b", "/proc/secret",	  "/proc/directory", "/proc/elsewhere",
	};
	const size_t n = ARRAY_SIZE(paths);
	char path[256];
	void *s;

	rig_file("secret", "1\n");
	snprintf(path, sizeof(path), "%s/secret", proc_root);
	assert_int_equal(chmod(path, 0600), 0);
	rig_file("directory/x", "1\n");
	/* A file on another file system, such as tracefs below /sys. */
	snprintf(path, sizeof(path), "%s/elsewhere", proc_root);
	assert_int_equal(symlink("/proc/version", path), 0);
	for (size_t i = 0; i < n; i++)
		add_file(i, paths[i]);
	s = rig_open(&sys_files);
	capture_log();
	rig_passes(&sys_files, s, 1);
	assert_int_equal(captured(strerror(EPERM)), n);
	assert_int_equal(rig_lines(), n);
	assert_null(strstr(said, "extra"));
	/* Later polls write nothing. */
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
	add_file(0, "/proc/words");
	add_file(1, "/proc/empty");
	add_file(2, "/proc/large");
	add_file(3, "/proc/missing");
	add_file(4, "/proc/good");
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
		add_file(i, i ? "/proc/one" : "/proc/many");
	rig_file("one", "1\n");
	capture_log();
	s = rig_open(&sys_files);
	assert_int_equal(captured("6 of 70 entries are skipped"), 1);
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
	add_file(0, "/proc/stats");
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
