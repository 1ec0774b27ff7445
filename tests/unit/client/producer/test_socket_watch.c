/* SPDX-License-Identifier: Apache-2.0 */
#include <event2/event.h>

#include "unit/test.h"
#include "client/producer/producer.c"

struct rig {
	struct event_base *loop;
	struct socket_watch *w;
	char dir[40], path[80], other[80];
	int seen;
	int free_when_seen;
};

static void on_seen(void *ctx)
{
	struct rig *r = ctx;

	r->seen++;
	if (r->free_when_seen) {
		socket_watch_free(r->w);
		r->w = NULL;
	}
}

static void touch(const char *path)
{
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	r->loop = event_base_new();
	strcpy(r->dir, "/tmp/test_socket_watch.XXXXXX");
	assert_non_null(mkdtemp(r->dir));
	snprintf(r->path, sizeof(r->path), "%s/sock", r->dir);
	snprintf(r->other, sizeof(r->other), "%s/sock2", r->dir);
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	socket_watch_free(r->w);
	unlink(r->path);
	unlink(r->other);
	rmdir(r->dir);
	event_base_free(r->loop);
	free(r);
	return 0;
}

/* inotify events are there when the system call that makes them returns. */
static void turn(struct rig *r)
{
	event_base_loop(r->loop, EVLOOP_NONBLOCK);
}

#define FIXTURE_TEST(name) TEST_STATE(name, setup, teardown, struct rig *r)

FIXTURE_TEST(its_own_name_is_seen_and_no_other)
{
	assert_int_equal(socket_watch_new(r->loop, r->path, on_seen, r, &r->w), 0);
	turn(r);
	touch(r->other);
	turn(r);
	assert_int_equal(r->seen, 0);
	touch(r->path);
	turn(r);
	assert_int_equal(r->seen, 1);
	chmod(r->path, 0666);
	turn(r);
	assert_int_equal(r->seen, 2);
	unlink(r->path);
	turn(r);
	r->seen = 0; /* links count as a mode: the last unlink may be seen or not */
	rename(r->other, r->path);
	turn(r);
	assert_int_equal(r->seen, 1);
}

FIXTURE_TEST(many_events_are_one_call)
{
	assert_int_equal(socket_watch_new(r->loop, r->path, on_seen, r, &r->w), 0);
	for (int i = 0; i < 500; i++) {
		touch(r->other);
		unlink(r->other);
		touch(r->path);
		unlink(r->path);
	}
	turn(r);
	assert_int_equal(r->seen, 1);
}

FIXTURE_TEST(it_can_be_freed_when_it_calls)
{
	r->free_when_seen = 1;
	assert_int_equal(socket_watch_new(r->loop, r->path, on_seen, r, &r->w), 0);
	touch(r->path);
	turn(r);
	turn(r);
	assert_int_equal(r->seen, 1);
	socket_watch_free(NULL);
}

FIXTURE_TEST(relative_and_root_paths)
{
	char cwd[4096];

	assert_non_null(getcwd(cwd, sizeof(cwd)));
	assert_int_equal(chdir(r->dir), 0);
	assert_int_equal(socket_watch_new(r->loop, "sock", on_seen, r, &r->w), 0);
	touch(r->path);
	turn(r);
	assert_int_equal(r->seen, 1);
	assert_int_equal(chdir(cwd), 0);
	socket_watch_free(r->w);
	assert_int_equal(socket_watch_new(r->loop, "/perfetto-sock", on_seen, r, &r->w), 0);
}

FIXTURE_TEST(paths_that_cannot_be_watched)
{
	char path[400];

	snprintf(path, sizeof(path), "%s/missing/sock", r->dir);
	assert_int_equal(socket_watch_new(r->loop, path, on_seen, r, &r->w), -ENOENT);
	touch(r->path);
	snprintf(path, sizeof(path), "%s/sock", r->path);
	assert_int_equal(socket_watch_new(r->loop, path, on_seen, r, &r->w), -ENOTDIR);
	snprintf(path, sizeof(path), "%s/", r->dir);
	assert_int_equal(socket_watch_new(r->loop, path, on_seen, r, &r->w), -EINVAL);
	snprintf(path, sizeof(path), "%s/%0300d", r->dir, 0);
	assert_int_equal(socket_watch_new(r->loop, path, on_seen, r, &r->w), -ENAMETOOLONG);
	assert_null(r->w);
}
