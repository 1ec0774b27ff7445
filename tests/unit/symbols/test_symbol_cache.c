/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A directory stands in for /proc. What the kernel does with kptr_restrict is in tests/root.
 */
#include <fcntl.h>
#include <sys/file.h>

#include <event2/event.h>

#include "base/core/clock.h"
#include "symbols/symbol_cache.h"
#include "unit/ftrace/fake_tracefs.h"

static struct event_base *loop;

struct session {
	struct symbol_cache_user user;
	unsigned calls;
	bool leaves; /* in the callback */
};

static void ready(void *ctx)
{
	struct session *s = ctx;

	s->calls++;
	assert_true(s->user.is_ready);
	if (s->leaves)
		symbol_cache_leave(&s->user);
}

static void join(struct session *s, const char *proc, enum symbol_cache_policy policy)
{
	*s = (struct session){.user = {.ready = ready, .ctx = s}, .leaves = s->leaves};
	assert_int_equal(symbol_cache_join(&s->user, loop, proc, policy), 0);
}

static void run(void)
{
	event_base_dispatch(loop); /* until nothing is to be done */
}

SETUP
{
	loop = event_base_new();
	fake_root_new();
	fake_text("kallsyms", "1000 T first\n2000 t second\n");
	fake_text("modules", "loop 1 2 - Live 0x0\n");
}

TEARDOWN
{
	event_base_free(loop);
	fake_root_remove();
}

FIXTURE_TEST(one_table_for_all)
{
	struct session a = {0}, b = {0}, c = {0};
	char name[SYMBOL_TABLE_NAME_MAX];

	join(&a, fake_root, SYMBOL_CACHE_NONE);
	join(&b, fake_root, SYMBOL_CACHE_NONE);
	assert_null(symbol_cache_table(&a.user));
	assert_int_equal(a.calls, 0);
	run();
	assert_int_equal(a.calls, 1);
	assert_int_equal(b.calls, 1);
	assert_non_null(symbol_cache_table(&a.user));
	assert_ptr_equal(symbol_cache_table(&a.user), symbol_cache_table(&b.user));
	assert_int_equal(symbol_table_find_name(symbol_cache_table(&a.user), 0x1234, name), 5);
	/* A later user is called at once. */
	join(&c, fake_root, SYMBOL_CACHE_NONE);
	assert_int_equal(c.calls, 1);
	assert_ptr_equal(symbol_cache_table(&c.user), symbol_cache_table(&a.user));
	symbol_cache_leave(&a.user);
	symbol_cache_leave(&a.user);
	assert_null(symbol_cache_table(&a.user));
	assert_non_null(symbol_cache_table(&c.user));
	symbol_cache_leave(&b.user);
	symbol_cache_leave(&c.user);
	/* It was freed: another one is read. */
	join(&a, fake_root, SYMBOL_CACHE_NONE);
	assert_int_equal(a.calls, 0);
	run();
	assert_int_equal(a.calls, 1);
	symbol_cache_leave(&a.user);
}

FIXTURE_TEST(those_who_leave_in_between)
{
	struct session a = {.leaves = true}, b = {.leaves = true}, c = {0};

	join(&a, fake_root, SYMBOL_CACHE_NONE);
	symbol_cache_leave(&a.user); /* nothing is read without a user */
	run();
	assert_int_equal(a.calls, 0);

	a.leaves = true;
	join(&a, fake_root, SYMBOL_CACHE_NONE);
	join(&b, fake_root, SYMBOL_CACHE_NONE);
	run();
	assert_int_equal(a.calls, 1);
	assert_int_equal(b.calls, 1);
	assert_null(symbol_cache_table(&a.user));
	join(&c, fake_root, SYMBOL_CACHE_NONE); /* both have left, and the table went with them */
	assert_int_equal(c.calls, 0);
	event_base_loop(loop, EVLOOP_ONCE);
	symbol_cache_leave(&c.user);
	symbol_cache_leave(&(struct symbol_cache_user){0});
}

FIXTURE_TEST(a_table_that_is_kept)
{
	struct session a = {0}, b = {0};

	join(&a, fake_root, SYMBOL_CACHE_RETAIN);
	run();
	symbol_cache_leave(&a.user);
	fake_text("kallsyms", "1000 T another\n");
	join(&a, fake_root, SYMBOL_CACHE_NONE); /* the old one, at once; it stays kept */
	assert_int_equal(a.calls, 1);
	assert_int_equal(symbol_cache_table(&a.user)->n_functions, 2);
	symbol_cache_leave(&a.user);
	/* With other modules there are other functions. */
	fake_text("modules", "");
	join(&b, fake_root, SYMBOL_CACHE_RETAIN);
	assert_int_equal(b.calls, 0);
	run();
	assert_int_equal(symbol_cache_table(&b.user)->n_functions, 1);
	join(&a, fake_root, SYMBOL_CACHE_CLEANUP);
	symbol_cache_leave(&a.user);
	symbol_cache_leave(&b.user);
	join(&a, fake_root, SYMBOL_CACHE_NONE);
	assert_int_equal(a.calls, 0);
	symbol_cache_leave(&a.user);
}

/* Joins, and returns why there is no table; "" if there is one. */
static const char *problem_of_join(void)
{
	static char text[256];
	struct session s = {0};

	join(&s, fake_root, SYMBOL_CACHE_NONE);
	run();
	assert_int_equal(s.calls, 1);
	assert_int_equal(symbol_cache_table(&s.user) == NULL, s.user.problem != NULL);
	snprintf(text, sizeof(text), "%s", s.user.problem ? s.user.problem : "");
	symbol_cache_leave(&s.user);
	return text;
}

/* The file shows nothing else in this directory when the value changes; the value must come
 * back. */
FIXTURE_TEST(hidden_addresses)
{
	static const char *const values[] = {"0\n", "1\n", "2\n", "4\n"};
	int fd;

	fake_text("kallsyms", "0000000000000000 T _stext\n0000000000000000 t do_idle\n");
	assert_non_null(strstr(problem_of_join(), "shows no addresses"));
	for (unsigned i = 0; i < ARRAY_SIZE(values); i++) {
		fake_text("sys/kernel/kptr_restrict", values[i]);
		assert_non_null(strstr(problem_of_join(), "kptr_restrict is "));
		assert_string_equal(fake_read("sys/kernel/kptr_restrict"), values[i]);
	}
	/* Another process changes it at the moment. */
	fd = open(fake_path("sys/kernel/kptr_restrict"), O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0 && flock(fd, LOCK_EX) == 0);
	assert_non_null(strstr(problem_of_join(), "cannot be locked"));
	close(fd);
	assert_null(strstr(problem_of_join(), "cannot be locked"));
	assert_string_equal(fake_read("sys/kernel/kptr_restrict"), "4\n");
	/* The first lines of a kernel that hides nothing may be 0, too. */
	fake_text("kallsyms", "0000000000000000 A fixed_percpu_data\n1000 T _stext\n");
	assert_string_equal(problem_of_join(), "");
	unlink(fake_path("kallsyms"));
	assert_non_null(strstr(problem_of_join(), "kallsyms"));
	fake_text("kallsyms", "");
	assert_string_not_equal(problem_of_join(), "");
}

FIXTURE_TEST(no_table_and_why)
{
	struct session a = {0}, b = {0};

	fake_text("kallsyms", "0000000000000000 T hidden\n");
	join(&a, fake_root, SYMBOL_CACHE_RETAIN);
	assert_int_equal(a.calls, 1);
	assert_null(symbol_cache_table(&a.user));
	assert_non_null(strstr(a.user.problem, "no addresses"));
	symbol_cache_leave(&a.user);
	/* An empty one is never kept. */
	fake_text("kallsyms", "1000 D data\n");
	join(&b, fake_root, SYMBOL_CACHE_RETAIN);
	assert_int_equal(b.calls, 0);
	run();
	assert_int_equal(b.calls, 1);
	assert_null(symbol_cache_table(&b.user));
	assert_non_null(strstr(b.user.problem, "no functions"));
	symbol_cache_leave(&b.user);
	fake_text("kallsyms", "1000 T a\n");
	join(&b, fake_root, SYMBOL_CACHE_NONE);
	run();
	assert_null(b.user.problem);
	assert_int_equal(symbol_cache_table(&b.user)->n_functions, 1);
	symbol_cache_leave(&b.user);
}

/* Other work on the loop does not wait while the kernel's own table is read. */
struct ticker {
	struct event *event;
	uint64_t last, longest, n;
};

static void tick(evutil_socket_t fd, short what, void *arg)
{
	struct timeval at_once = {0};
	struct ticker *t = arg;
	uint64_t now = clock_mono_ns();

	t->longest = MAX(t->longest, now - t->last);
	t->last = now;
	if (++t->n < 100000)
		event_add(t->event, &at_once);
}

static void stop_ticking(void *ctx)
{
	struct ticker *t = ctx;

	event_del(t->event);
	event_base_loopbreak(loop);
}

FIXTURE_TEST(the_loop_serves_others_meanwhile)
{
	struct ticker t = {.last = clock_mono_ns()};
	struct symbol_cache_user u = {.ready = stop_ticking, .ctx = &t};
	uint64_t begin = clock_mono_ns();

	t.event = evtimer_new(loop, tick, &t);
	assert_int_equal(symbol_cache_join(&u, loop, "/proc", SYMBOL_CACHE_NONE), 0);
	if (!u.problem) {
		event_add(t.event, &(struct timeval){0});
		run();
		assert_true(u.is_ready);
		print_message("%.1f ms in %llu slices, the longest of %.1f ms\n",
			      (double)(clock_mono_ns() - begin) / 1e6, (unsigned long long)t.n,
			      (double)t.longest / 1e6);
		if (symbol_cache_table(&u) && symbol_cache_table(&u)->n_functions > 10000)
			assert_true(t.n > 5);
	}
	symbol_cache_leave(&u);
	event_free(t.event);
}
