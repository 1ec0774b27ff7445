/* SPDX-License-Identifier: Apache-2.0 */
/* Each test in a child of its own: who may not boost cannot go back either. */

#include <sched.h>
#include <sys/resource.h>

#include "base/system/priority_boost.h"
#include "unit/test.h"

static const struct priority_boost none = {PRIORITY_BOOST_NONE, 0},
				   other5 = {PRIORITY_BOOST_OTHER, 5},
				   other0 = {PRIORITY_BOOST_OTHER, 0},
				   fifo7 = {PRIORITY_BOOST_FIFO, 7},
				   budgeted = {PRIORITY_BOOST_BUDGETED, 0};

static bool runs_as(int policy, int priority, int nice)
{
	struct sched_param param;

	return sched_getscheduler(0) == policy && sched_getparam(0, &param) == 0 &&
	       param.sched_priority == priority && getpriority(PRIO_PROCESS, 0) == nice;
}

/* The number of the first step that is not as it should be; 0: all are. */
#define STEP(n, condition)                                                                         \
	do {                                                                                       \
		if (!(condition))                                                                  \
			_exit(n);                                                                  \
	} while (0)

static void up_and_down(int nice)
{
	struct priority_boost_state p = {0};

	STEP(1, priority_boost_apply(&p, none) == 0 && runs_as(SCHED_OTHER, 0, nice));
	STEP(2, priority_boost_apply(&p, other5) == 0 && runs_as(SCHED_OTHER, 0, -5));
	STEP(3, priority_boost_apply(&p, fifo7) == 0 && runs_as(SCHED_FIFO, 7, nice));
	STEP(4, priority_boost_apply(&p, other0) == 0 && runs_as(SCHED_OTHER, 0, nice));
	STEP(5, priority_boost_apply(&p, none) == 0 && runs_as(SCHED_OTHER, 0, nice));
	STEP(6, priority_boost_apply(&p, none) == 0 && runs_as(SCHED_OTHER, 0, nice));
	STEP(7, priority_boost_apply(&p, fifo7) == 0 && priority_boost_apply(&p, none) == 0);
	STEP(8, runs_as(SCHED_OTHER, 0, nice));
}

static void refused(int nice)
{
	const struct priority_boost fifo100 = {PRIORITY_BOOST_FIFO, 100};
	struct priority_boost_state p = {0};

	STEP(1, priority_boost_apply(&p, fifo100) == -EINVAL && runs_as(SCHED_OTHER, 0, nice));
	STEP(2, priority_boost_apply(&p, other5) == 0 && runs_as(SCHED_OTHER, 0, -5));
	STEP(3, priority_boost_apply(&p, fifo100) == -EINVAL && runs_as(SCHED_OTHER, 0, -5));
	STEP(4, priority_boost_apply(&p, none) == 0 && runs_as(SCHED_OTHER, 0, nice));
}

static void from_batch(int nice)
{
	struct priority_boost_state p = {0};

	STEP(1, sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0}) == 0);
	STEP(2, priority_boost_apply(&p, other5) == 0 && runs_as(SCHED_OTHER, 0, -5));
	STEP(3, priority_boost_apply(&p, none) == 0 && runs_as(SCHED_BATCH, 0, nice));
}

/* Uses the CPU until it runs with another policy than this. */
static void work_while(struct priority_boost_state *p, int policy)
{
	while (sched_getscheduler(0) == policy)
		priority_boost_tick(p);
}

static void on_a_budget(int nice)
{
	struct priority_boost_state p = {0};

	STEP(1, priority_boost_apply(&p, budgeted) == 0 && runs_as(SCHED_FIFO, 1, nice));
	work_while(&p, SCHED_FIFO);
	STEP(2, runs_as(SCHED_OTHER, 0, -20));
	work_while(&p, SCHED_OTHER);
	STEP(3, runs_as(SCHED_FIFO, 1, nice));
	work_while(&p, SCHED_FIFO);
	STEP(4, priority_boost_apply(&p, none) == 0 && runs_as(SCHED_OTHER, 0, nice));
}

static void each_priority_on_a_budget(int nice)
{
	struct priority_boost_state p = {0};

	STEP(1, priority_boost_apply(&p, fifo7) == 0 && runs_as(SCHED_FIFO, 7, nice));
	work_while(&p, SCHED_FIFO);
	STEP(2, runs_as(SCHED_OTHER, 0, -20));
	work_while(&p, SCHED_OTHER);
	STEP(3, runs_as(SCHED_FIFO, 7, nice));
	STEP(4, priority_boost_apply(&p, none) == 0 && runs_as(SCHED_OTHER, 0, nice));
}

/* The work of the next window deserves priority again. */
static void ordinary_work(int nice)
{
	struct priority_boost_state p = {0};

	STEP(1, priority_boost_apply(&p, budgeted) == 0);
	p.ordinary_ns = PRIORITY_BOOST_BUDGET_NS / 2;
	work_while(&p, SCHED_FIFO);
	STEP(2, runs_as(SCHED_OTHER, 0, nice));
	work_while(&p, SCHED_OTHER);
	STEP(3, runs_as(SCHED_FIFO, 1, nice));
	work_while(&p, SCHED_FIFO);
	STEP(4, runs_as(SCHED_OTHER, 0, -20));
}

/* A callback that does not come back to the loop. */
static void cut_off(int nice)
{
	struct priority_boost_state p = {0};

	priority_boost_init();
	STEP(1, priority_boost_apply(&p, budgeted) == 0 && runs_as(SCHED_FIFO, 1, nice));
	/* ThreadSanitizer runs the handler of a signal in the next call that it knows. This one
	 * fails, and does not wait. */
	while (sched_getscheduler(0) == SCHED_FIFO)
		(void)!read(-1, NULL, 0);
	STEP(2, runs_as(SCHED_OTHER, 0, nice));
	work_while(&p, SCHED_OTHER);
	STEP(3, runs_as(SCHED_FIFO, 1, nice));
	STEP(4, priority_boost_apply(&p, none) == 0 && runs_as(SCHED_OTHER, 0, nice));
}

static void yields(int nice)
{
	struct priority_boost_state p = {0};

	priority_boost_yield();
	STEP(1, runs_as(SCHED_OTHER, 0, nice));
	STEP(2, priority_boost_apply(&p, budgeted) == 0 && runs_as(SCHED_FIFO, 1, nice));
	priority_boost_yield();
	STEP(3, runs_as(SCHED_OTHER, 0, -20));
	work_while(&p, SCHED_OTHER);
	STEP(4, runs_as(SCHED_FIFO, 1, nice));
	STEP(5, priority_boost_apply(&p, none) == 0 && runs_as(SCHED_OTHER, 0, nice));
	priority_boost_yield();
	STEP(6, runs_as(SCHED_OTHER, 0, nice));
}

static void found_in_real_time(int nice)
{
	struct priority_boost_state p = {0};

	STEP(1, sched_setscheduler(0, SCHED_RR, &(struct sched_param){42}) == 0);
	STEP(2, priority_boost_apply(&p, budgeted) == 0 && runs_as(SCHED_RR, 42, nice));
	STEP(3, !p.has_budget);
	STEP(4, priority_boost_apply(&p, fifo7) == 0 && runs_as(SCHED_FIFO, 7, nice));
	STEP(5, !p.has_budget);
	STEP(6, priority_boost_apply(&p, none) == 0 && runs_as(SCHED_RR, 42, nice));
}

/* As in a control group without real time. */
static void nice_alone(int nice)
{
	const struct rlimit least = {40, 40}, no = {0, 0};
	struct priority_boost_state p = {0};

	if (setrlimit(RLIMIT_NICE, &least) < 0)
		return; /* it takes CAP_SYS_RESOURCE */
	STEP(1, setrlimit(RLIMIT_RTPRIO, &no) == 0);
	STEP(2, setuid(65534) == 0);
	STEP(3, priority_boost_apply(&p, budgeted) == 0 && runs_as(SCHED_OTHER, 0, -20));
	priority_boost_tick(&p);
	STEP(4, runs_as(SCHED_OTHER, 0, -20) &&
			strcmp(priority_boost_describe_current().text, "nice -20") == 0);
	STEP(5, priority_boost_apply(&p, none) == 0 && runs_as(SCHED_OTHER, 0, nice));
}

static void without_the_right(int nice)
{
	const struct rlimit no = {0, 0};
	struct priority_boost_state p = {0};

	STEP(1, setrlimit(RLIMIT_NICE, &no) == 0 && setrlimit(RLIMIT_RTPRIO, &no) == 0);
	STEP(2, geteuid() != 0 || setuid(65534) == 0);
	STEP(3, priority_boost_apply(&p, other5) < 0 && runs_as(SCHED_OTHER, 0, nice));
	STEP(4, priority_boost_apply(&p, fifo7) == -EPERM && runs_as(SCHED_OTHER, 0, nice));
	STEP(5, priority_boost_apply(&p, budgeted) < 0 && runs_as(SCHED_OTHER, 0, nice));
	STEP(6, priority_boost_apply(&p, none) == 0 && runs_as(SCHED_OTHER, 0, nice));
	STEP(7, priority_boost_apply(&p, other0) == 0 && runs_as(SCHED_OTHER, 0, nice));
}

/* A user may lower the priority with which it was started, but not raise it again. The next boosts
 * then count from the lowered priority. */
static void refused_return(int nice)
{
	const struct rlimit no = {0, 0};
	struct priority_boost_state p = {0};

	STEP(1, priority_boost_apply(&p, other5) == 0 && runs_as(SCHED_OTHER, 0, -5));
	STEP(2, setrlimit(RLIMIT_NICE, &no) == 0 && setrlimit(RLIMIT_RTPRIO, &no) == 0);
	STEP(3, setuid(65534) == 0);
	STEP(4, priority_boost_apply(&p, none) < 0 && runs_as(SCHED_OTHER, 0, -5));
	STEP(5, !p.active && nice < -5);
	STEP(6, priority_boost_apply(&p, none) == 0 && runs_as(SCHED_OTHER, 0, -5));
	STEP(7, priority_boost_apply(&p, other0) == 0 && runs_as(SCHED_OTHER, 0, -5));
	STEP(8, priority_boost_apply(&p, none) == 0 && runs_as(SCHED_OTHER, 0, -5));
}

static void in_a_child(const char *name, void (*steps)(int nice), int nice)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		/* Real time that does not end would take a CPU from all others. */
		setrlimit(RLIMIT_CPU, &(struct rlimit){60, 60});
		STEP(99, setpriority(PRIO_PROCESS, 0, nice) == 0);
		steps(nice);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (status != 0)
		fail_msg("%s: step %d, signal %d", name, WEXITSTATUS(status), WTERMSIG(status));
}

/* May this process do what a boost takes? Containers and users may not. */
static bool may_boost(void)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(setpriority(PRIO_PROCESS, 0, -20) < 0 ||
		      sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){99}) < 0);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

TEST(a_boost_comes_and_goes)
{
	static const struct {
		const char *name;
		void (*steps)(int nice);
		int nice;
		bool is_root;
	} rows[] = {
		{"up and down", up_and_down, 0, false},
		{"up and down from nice 3", up_and_down, 3, false},
		{"a refused one changes nothing", refused, 3, false},
		{"the policy before comes back", from_batch, 2, false},
		{"a callback that does not end is cut off", cut_off, 2, false},
		{"long work yields until the next window", yields, 3, false},
		{"real time that was there before stays", found_in_real_time, 0, false},
		{"where real time is not allowed", nice_alone, 0, true},
		{"a refused return", refused_return, -10, true},
	};

	if (!may_boost())
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!rows[i].is_root || geteuid() == 0)
			in_a_child(rows[i].name, rows[i].steps, rows[i].nice);
}

TEST(real_time_ends_with_its_budget)
{
	if (!may_boost())
		skip();
	in_a_child("of the lowest priority", on_a_budget, 0);
	in_a_child("of the lowest priority, from nice 3", on_a_budget, 3);
	in_a_child("of each priority", each_priority_on_a_budget, 3);
}

TEST(ordinary_work_has_no_priority_after_the_budget)
{
	if (!may_boost())
		skip();
	in_a_child("from nice 0", ordinary_work, 0);
	in_a_child("from nice 3", ordinary_work, 3);
}

TEST(without_the_right_nothing_changes)
{
	in_a_child("without the right", without_the_right, 4);
}
