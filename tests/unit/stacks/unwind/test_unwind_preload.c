/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/unwind/unwind_preload.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <event2/event.h>

#include "base/core/mem.h"
#include "stacks/unwind/unwind_follow.h"
#include "stacks/unwind/unwind_tables.h"
#include "unit/temp_dir.h"
#include "unit/test.h"

/* ---- the fake tables and file reader: the calls that they got ---- */

static struct {
	bool is_busy, is_full;
	unsigned n_cleared, n_mappings;
	char path[16];
} tables;

static struct {
	struct file_reader_user *user;
	unsigned n, room; /* requests; before the reader is busy */
	int32_t pids[8];
} reader;

bool unwind_tables_is_busy(void)
{
	return tables.is_busy;
}

bool unwind_tables_are_almost_full(void)
{
	return tables.is_full;
}

void unwind_tables_clear_queue(void)
{
	tables.n_cleared++;
}

void unwind_follow_mapping(int32_t pid, const struct file_mapping *m, const char *path)
{
	tables.n_mappings++;
	snprintf(tables.path, sizeof(tables.path), "%d%.*s", pid, (int)m->path_len, path);
}

int file_reader_join(struct file_reader_user *u, struct event_base *loop)
{
	reader.user = u;
	return 0;
}

void file_reader_leave(struct file_reader_user *u)
{
	reader.user = NULL;
}

bool file_reader_request_maps(const struct file_reader_user *u, int32_t pid, int32_t tid)
{
	if (reader.n == reader.room)
		return false;
	reader.pids[reader.n++] = pid;
	return true;
}

/* ---- a preload ---- */

static struct event_base *loop;
static struct unwind_preload preload;
static unsigned n_done;

static bool is_wanted(void *ctx, int32_t pid)
{
	return pid != 20;
}

static void on_done(void *ctx)
{
	n_done++;
}

static int setup(void **state)
{
	static const char *const names[] = {"7", "20", "300", "self"};
	int r = temp_dir_setup(state);

	memset(&tables, 0, sizeof(tables));
	memset(&reader, 0, sizeof(reader));
	reader.room = ARRAY_SIZE(reader.pids);
	n_done = 0;
	loop = event_base_new();
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(names); i++)
		r = mkdir(temp_dir_path(state, 0, names[i]), 0700);
	preload = (struct unwind_preload){
		.proc_root = *state, .is_wanted = is_wanted, .done = on_done};
	return r == 0 ? unwind_preload_begin(&preload, loop) : r;
}

static int teardown(void **state)
{
	unwind_preload_deinit(&preload);
	event_base_free(loop);
	return reader.user ? -1 : temp_dir_teardown(state);
}

static void tick(void)
{
	event_base_loop(loop, EVLOOP_ONCE);
}

static void answer(int32_t pid, const char *path, bool has_more)
{
	static struct file_answer a;
	struct file_mapping m = {.start = 1, .end = 2, .path_len = (uint32_t)strlen(path)};

	a = (struct file_answer){.kind = FILE_REQUEST_MAPS,
				 .id = (uint64_t)pid,
				 .has_more = has_more,
				 .n = path[0] != '\0'};
	memcpy(a.body, &m, sizeof(m));
	memcpy(a.body + sizeof(m), path, m.path_len);
	reader.user->answered(reader.user->ctx, &a);
}

TEST_WITH(it_ends_when_all_selected_processes_have_their_rows, setup, teardown)
{
	assert_int_equal(n_done, 0);
	tick();
	assert_int_equal(reader.n, 2); /* neither 20 nor "self" */
	assert_int_equal(reader.pids[0] + reader.pids[1], 307);
	tables.is_busy = true;
	answer(300, "/a", true);
	assert_string_equal(tables.path, "300/a");
	answer(300, "/b", false);
	tables.is_busy = false;
	tick();
	assert_int_equal(n_done, 0); /* an answer is missing */
	answer(7, "", false);
	tables.is_busy = true;
	tick();
	assert_int_equal(n_done, 0);
	tables.is_busy = false;
	tick();
	assert_int_equal(n_done, 1);
	assert_int_equal(tables.n_mappings, 2);
	unwind_preload_end(&preload);
	assert_int_equal(n_done, 1);
}

TEST_WITH(a_busy_reader_is_asked_again, setup, teardown)
{
	reader.room = 1;
	tick();
	assert_int_equal(reader.n, 1);
	reader.room = 2;
	tick();
	assert_int_equal(reader.n, 2);
}

TEST_WITH(it_ends_when_the_tables_are_full, setup, teardown)
{
	tables.is_full = tables.is_busy = true;
	tick();
	assert_int_equal(n_done, 1);
	assert_int_equal(tables.n_cleared, 1);
}

TEST_WITH(it_ends_in_time_or_with_its_source_or_the_reader, setup, teardown)
{
	tables.is_busy = true;
	tick();
	preload.ends_ns = 1;
	tick();
	assert_int_equal(n_done, 1);
	assert_int_equal(tables.n_cleared, 1);
	assert_int_equal(unwind_preload_begin(&preload, loop), 0);
	unwind_preload_end(&preload);
	assert_int_equal(n_done, 2);
	tables.is_busy = false;
	assert_int_equal(unwind_preload_begin(&preload, loop), 0);
	tick();
	reader.user->answered(reader.user->ctx,
			      &(struct file_answer){.kind = FILE_REQUEST_CLOSE_ALL});
	tick();
	assert_int_equal(n_done, 3);
}
