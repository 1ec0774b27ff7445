/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring that survives a crash, in a directory that stands in for tracefs, with pages that a
 * kernel wrote.
 */
#include <sys/stat.h>
#include <sys/uio.h>

#include "base/system/fs.h"
#include "cli/recorder/crash_boots.h"
#include "cli/recorder/crash_save.h"
#include "unit/temp_dir.h"
#include "unit/test.h"

#define DATA "tests/data/ftrace/sched"

static struct err_text e;
static struct crash_ring ring;
static struct crash_saved saved;
static char root[PATH_MAX], dir[PATH_MAX], proc[PATH_MAX];
static const char *const roots[] = {root, NULL};
static size_t pwrite_max; /* bytes of a call; 0: not limited */

/* Replaces libc's: writes less than it is asked to, as a disk that is nearly full. */
ssize_t pwrite(int fd, const void *data, size_t len, off_t offset)
{
	struct iovec part = {(void *)data, pwrite_max ? MIN(len, pwrite_max) : len};

	errno = 0;
	return pwritev(fd, &part, 1, offset);
}

static void put(const char *name, const char *text)
{
	char path[2 * PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "%s/instances/" CRASH_RING_NAME "/%s", root, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void directory(const char *name)
{
	char path[2 * PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static const char *get(const char *name)
{
	static struct strbuf text;
	char path[2 * PATH_MAX];

	strbuf_clear(&text);
	snprintf(path, sizeof(path), "%s/instances/" CRASH_RING_NAME "/%s", root, name);
	assert_int_equal(fs_read_file(path, 4096, &text), 0);
	return text.s ? text.s : "";
}

/* Puts the recorded pages of CPU 0 into the ring, without the last bytes. */
static void put_pages(size_t without)
{
	char path[2 * PATH_MAX];
	struct strbuf pages = {0};
	FILE *f;

	assert_int_equal(fs_read_file(DATA "/cpu0.pages", 1 << 24, &pages), 0);
	snprintf(path, sizeof(path), "%s/instances/" CRASH_RING_NAME "/per_cpu/cpu0/trace_pipe_raw",
		 root);
	f = fopen(path, "w");
	assert_non_null(f);
	fwrite(pages.s, 1, pages.len - without, f);
	fclose(f);
	strbuf_deinit(&pages);
}

static int setup(void **state)
{
	static const char *const names[] = {"header_page", "sched", "task"};
	char data[PATH_MAX], path[2 * PATH_MAX];

	if (temp_dir_setup(state))
		return -1;
	snprintf(root, sizeof(root), "%s", temp_dir_path(state, 0, "tracing"));
	snprintf(dir, sizeof(dir), "%s", temp_dir_path(state, 0, "recorder"));
	snprintf(proc, sizeof(proc), "%s", temp_dir_path(state, 0, "tracing/proc"));
	if (mkdir(dir, 0700) || mkdir(root, 0700))
		return -1;
	directory("proc");
	directory("events");
	snprintf(path, sizeof(path), "%s/events/header_event", root);
	fclose(fopen(path, "w"));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), DATA "/events/%s", names[i]);
		if (!realpath(path, data))
			return -1;
		snprintf(path, sizeof(path), "%s/events/%s", root, names[i]);
		if (symlink(data, path))
			return -1;
	}
	directory("instances");
	directory("instances/" CRASH_RING_NAME);
	directory("instances/" CRASH_RING_NAME "/per_cpu");
	directory("instances/" CRASH_RING_NAME "/per_cpu/cpu0");
	put("last_boot_info", "text delta:\t0\n");
	put("tracing_on", "0");
	put("trace_clock", "boot!");
	put("trace", "old\n");
	put("set_event", "old\n");
	put("buffer_total_size_kb", "512\n");
	put("per_cpu/cpu0/stats", "entries: 0\nnow ts: 12.5\n");
	return 0;
}

static void arm(void)
{
	crash_ring_find(proc, roots, &ring);
	if (crash_save_arm(&ring, dir, &e))
		fail_msg("%s", e.text);
}

static struct crash_boot only_boot(void)
{
	struct crash_boots boots = {0};
	struct crash_boot b;

	assert_int_equal(crash_boots_read(dir, &boots), 0);
	assert_int_equal(boots.n, 1);
	b = boots.of[0];
	crash_boots_deinit(&boots);
	return b;
}

/* The boot that armed the ring becomes an earlier one. */
static void reboot(void)
{
	struct crash_boot b = only_boot();

	snprintf(b.id, sizeof(b.id), "%s", "00000000-0000-0000-0000-000000000001");
	assert_int_equal(crash_boot_write(dir, &b), 0);
	put("tracing_on", "0");
	crash_ring_find(proc, roots, &ring);
}

TEST_WITH(the_ring_is_found, setup, temp_dir_teardown)
{
	char path[2 * PATH_MAX];
	FILE *f;

	crash_ring_find(proc, roots, &ring);
	assert_int_equal(ring.state, CRASH_RING_STOPPED);
	assert_int_equal(ring.bytes, 512 << 10);
	put("tracing_on", "1\n");
	crash_ring_find(proc, roots, &ring);
	assert_int_equal(ring.state, CRASH_RING_RECORDS);
	snprintf(path, sizeof(path), "%s/last_boot_info", ring.path);
	unlink(path);
	crash_ring_find(proc, roots, &ring);
	assert_int_equal(ring.state, CRASH_RING_NOT_KEPT);
	assert_int_equal(crash_save_arm(&ring, dir, &e), -ENOENT);
	assert_non_null(strstr(e.text, "ordinary memory"));

	crash_ring_find(proc, (const char *const[]){"/nowhere", NULL}, &ring);
	assert_int_equal(ring.state, CRASH_RING_NOT_MADE);
	snprintf(path, sizeof(path), "%s/cmdline", proc);
	f = fopen(path, "w");
	fputs("quiet trace_instance=" CRASH_RING_NAME "^traceoff@" CRASH_RING_NAME "\n", f);
	fclose(f);
	crash_ring_find(proc, (const char *const[]){"/nowhere", NULL}, &ring);
	assert_int_equal(ring.state, CRASH_RING_LINE_ONLY);
}

TEST_WITH(arming_empties_and_starts_it_once, setup, temp_dir_teardown)
{
	struct crash_boot b;

	arm();
	assert_string_equal(get("tracing_on"), "1");
	assert_string_equal(get("trace_clock"), "local");
	assert_string_equal(get("trace"), "");
	assert_string_equal(get("set_event"), "");
	b = only_boot();
	assert_true(b.armed_s > 0 && b.date_ns > 0 && !b.saved_s && b.cpus > 0);
	put("trace", "new\n");
	arm();
	assert_string_equal(get("trace"), "new\n");

	/* Stopped and armed again in the same boot: it is one boot. */
	crash_ring_find(proc, roots, &ring);
	assert_int_equal(crash_save_disarm(&ring), 0);
	arm();
	assert_string_equal(get("trace"), "");
	only_boot();
}

TEST_WITH(the_boot_before_is_saved_once, setup, temp_dir_teardown)
{
	struct crash_boot b;

	arm();
	assert_int_equal(crash_save_last(&ring, dir, &saved, &e), 0);
	assert_string_equal(saved.id, ""); /* it still runs */
	reboot();
	put_pages(0);
	assert_int_equal(crash_save_last(&ring, dir, &saved, &e), 0);
	if (!saved.path[0])
		fail_msg("%s", saved.why);
	assert_true(saved.events > 100);
	assert_int_equal(saved.unread, 0);
	assert_int_equal(saved.cpus_with_events, 1);
	b = only_boot();
	assert_true(b.saved_s > 0);
	assert_string_equal(b.why, "");
	assert_true(fs_exists(saved.path));
	assert_int_equal(crash_boots_choose(dir, -1, &b, &e), 0);
	assert_int_equal(crash_boots_choose(dir, -2, &b, &e), -ENOENT);
	assert_non_null(strstr(e.text, "only 1 earlier boot"));

	assert_int_equal(crash_save_last(&ring, dir, &saved, &e), 0);
	assert_string_equal(saved.id, "");
}

TEST_WITH(the_table_of_the_pages_is_written_in_parts, setup, temp_dir_teardown)
{
	arm();
	reboot();
	put_pages(0);
	pwrite_max = 7;
	assert_int_equal(crash_save_last(&ring, dir, &saved, &e), 0);
	pwrite_max = 0;
	if (!saved.path[0])
		fail_msg("%s", saved.why);
	assert_true(saved.events > 100);
}

TEST_WITH(a_damaged_page_is_counted, setup, temp_dir_teardown)
{
	char path[2 * PATH_MAX];
	FILE *f;

	arm();
	reboot();
	put_pages(100); /* the last page is cut */
	snprintf(path, sizeof(path), "%s/instances/" CRASH_RING_NAME "/per_cpu/cpu0/trace_pipe_raw",
		 root);
	f = fopen(path, "r+");
	assert_non_null(f);
	fseek(f, 8, SEEK_SET); /* the length of the first page */
	fwrite("\xff\xff\xff\x0f\xff\xff\xff\xff", 1, 8, f);
	fclose(f);
	assert_int_equal(crash_save_last(&ring, dir, &saved, &e), 0);
	assert_true(saved.path[0] != '\0');
	assert_true(saved.unread > 0);
}

TEST_WITH(why_there_is_no_trace, setup, temp_dir_teardown)
{
	struct crash_boot b;

	assert_int_equal(crash_boots_choose(dir, -1, &b, &e), -ENOENT);
	assert_non_null(strstr(e.text, "enable --crash"));
	arm();
	reboot();
	assert_int_equal(crash_boots_choose(dir, -1, &b, &e), -ENOENT);
	assert_non_null(strstr(e.text, "no recorder has saved it"));
	put("tracing_on", "1\n");
	crash_ring_find(proc, roots, &ring);
	assert_int_equal(crash_save_last(&ring, dir, &saved, &e), 0);
	assert_non_null(strstr(saved.why, "restarted the ring"));
	assert_int_equal(crash_boots_choose(dir, -1, &b, &e), -ENOENT);
	assert_non_null(strstr(e.text, "restarted the ring"));
}

TEST_WITH(memory_that_was_lost, setup, temp_dir_teardown)
{
	arm();
	reboot();
	assert_int_equal(crash_save_last(&ring, dir, &saved, &e), 0);
	assert_string_equal(saved.path, "");
	assert_non_null(strstr(saved.why, "did not survive"));
}

TEST_WITH(old_boots_are_removed, setup, temp_dir_teardown)
{
	struct crash_boots boots = {0};
	struct crash_boot b = {.saved_s = 1};

	for (unsigned i = 0; i < CRASH_BOOTS_KEPT + 3; i++) {
		snprintf(b.name, sizeof(b.name), "2026112%uT000000-00000000", i);
		assert_int_equal(crash_boot_write(dir, &b), 0);
	}
	crash_boots_prune(dir);
	assert_int_equal(crash_boots_read(dir, &boots), 0);
	assert_int_equal(boots.n, CRASH_BOOTS_KEPT);
	assert_string_equal(boots.of[0].name, "20261123T000000-00000000");
	crash_boots_deinit(&boots);
}
