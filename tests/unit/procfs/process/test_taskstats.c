/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <pthread.h>
#include <sys/prctl.h>

#include "unit/test.h"
#include "procfs/process/taskstats.c"

struct answer {
	struct nlmsghdr nl;
	struct genlmsghdr genl;
	struct nlattr aggregate;
	struct nlattr pid;
	uint32_t tid;
	struct nlattr null;
	struct nlattr stats_attr;
	struct taskstats stats __attribute__((packed, aligned(4)));
};

static struct answer answer(uint16_t version, uint32_t seq)
{
	struct answer a = {
		.nl = {.nlmsg_len = sizeof(a), .nlmsg_type = 31, .nlmsg_seq = seq},
		.genl = {.cmd = TASKSTATS_CMD_NEW, .version = 1},
		.aggregate = {.nla_type = TASKSTATS_TYPE_AGGR_PID,
			      .nla_len = sizeof(a) - offsetof(struct answer, aggregate)},
		.pid = {.nla_type = TASKSTATS_TYPE_PID, .nla_len = 8},
		.tid = 71,
		.null = {.nla_type = TASKSTATS_TYPE_NULL, .nla_len = 4},
		.stats_attr = {.nla_type = TASKSTATS_TYPE_STATS, .nla_len = 4 + sizeof(a.stats)},
		.stats = {.version = version, .ac_tgid = 70, .ac_comm = "a) 1 \n"},
	};

	return a;
}

static int parse(const struct answer *a, size_t len, int32_t *ret_tgid, struct proc_name *ret_name)
{
	return taskstats_parse(a, len, 1000, 4, ret_tgid, ret_name);
}

TEST(an_answer)
{
	struct answer a = answer(13, 1002);
	struct proc_name name = {0};
	int32_t tgid = -1;

	assert_int_equal(parse(&a, sizeof(a), &tgid, &name), 2);
	assert_int_equal(tgid, 70);
	assert_int_equal(name.len, 6);
	assert_memory_equal(name.s, "a) 1 \n", 6);
	/* Without an end. */
	memset(a.stats.ac_comm, 'x', sizeof(a.stats.ac_comm));
	assert_int_equal(parse(&a, sizeof(a), &tgid, &name), 2);
	assert_int_equal(name.len, sizeof(a.stats.ac_comm));
}

TEST(a_task_that_has_exited)
{
	struct {
		struct nlmsghdr nl;
		struct nlmsgerr error;
	} a = {.nl = {.nlmsg_len = sizeof(a), .nlmsg_type = NLMSG_ERROR, .nlmsg_seq = 1003},
	       .error = {.error = -3}};
	struct proc_name name;
	int32_t tgid = -1;

	assert_int_equal(taskstats_parse(&a, sizeof(a), 1000, 4, &tgid, &name), 3);
	assert_int_equal(tgid, 0);
}

TEST(answers_that_are_none)
{
	static const uint16_t versions[] = {0, 11, 15};
	struct answer a = answer(13, 1004);
	struct proc_name name;
	int32_t tgid = -1;
	size_t needed = offsetof(struct answer, stats) + offsetof(struct taskstats, ac_tgid) + 4;

	assert_true(parse(&a, sizeof(a), &tgid, &name) < 0); /* to another question */
	a.nl.nlmsg_seq = 999;
	assert_true(parse(&a, sizeof(a), &tgid, &name) < 0);
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		a = answer(versions[i], 1000);
		assert_true(parse(&a, sizeof(a), &tgid, &name) < 0);
	}
	a = answer(13, 1000);
	for (size_t len = 0; len < sizeof(a); len++)
		assert_int_equal(parse(&a, len, &tgid, &name), len < needed ? -EBADMSG : 0);
	a.pid.nla_len = 0;
	assert_true(parse(&a, sizeof(a), &tgid, &name) < 0);
	a = answer(13, 1000);
	a.aggregate.nla_type = TASKSTATS_TYPE_AGGR_TGID;
	assert_true(parse(&a, sizeof(a), &tgid, &name) < 0);
	a = answer(13, 1000);
	a.stats_attr.nla_len = 8;
	assert_true(parse(&a, sizeof(a), &tgid, &name) < 0);
	a = answer(13, 1000);
	a.stats.ac_tgid = UINT32_MAX;
	assert_true(parse(&a, sizeof(a), &tgid, &name) < 0);
}

static void *end_at_once(void *tid)
{
	*(int32_t *)tid = gettid();
	return NULL;
}

TEST(ourselves)
{
	struct taskstats_socket t = {0};
	struct taskstats_name names[TASKSTATS_MAX];
	pthread_t thread;
	int32_t gone;

	if (taskstats_open(&t) < 0) {
		assert_false(t.open);
		skip();
	}
	assert_int_equal(pthread_create(&thread, NULL, end_at_once, &gone), 0);
	pthread_join(thread, NULL);
	prctl(PR_SET_NAME, "Tgid:\t1 \\ \n)");
	for (unsigned i = 0; i < TASKSTATS_MAX; i++)
		names[i].tid = i % 3 == 1 ? INT32_MAX : getpid();
	for (unsigned round = 0; round < 3; round++) {
		assert_int_equal(taskstats_get(&t, names, TASKSTATS_MAX), 0);
		for (unsigned i = 0; i < TASKSTATS_MAX; i++) {
			assert_int_equal(names[i].tgid, i % 3 == 1 ? 0 : getpid());
			if (!names[i].tgid)
				continue;
			assert_int_equal(names[i].name.len, 12);
			assert_memory_equal(names[i].name.s, "Tgid:\t1 \\ \n)", 12);
		}
	}
	names[0].tid = gone;
	assert_int_equal(taskstats_get(&t, names, 1), 0);
	assert_int_equal(names[0].tgid, 0);
	taskstats_close(&t);
	taskstats_close(&t);
}

/* It is not tried again. */
TEST(a_socket_that_fails)
{
	struct taskstats_socket t = {.open = true, .fd = open("/dev/null", O_RDWR | O_CLOEXEC)};
	struct taskstats_name name = {.tid = getpid(), .tgid = 5};

	assert_true(taskstats_get(&t, &name, 1) < 0);
	assert_false(t.open);
	assert_int_equal(name.tgid, 0);
}
