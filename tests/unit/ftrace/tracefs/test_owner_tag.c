/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/clock.h"
#include "ftrace/tracefs/owner_tag.h"
#include "unit/test.h"

TEST(this_process_lives_and_began_before_now)
{
	struct owner_tag o = owner_tag_read(getpid());
	uint64_t now = clock_ns(CLOCK_REALTIME);

	assert_true(o.lives);
	assert_true(o.start_ticks > 0);
	assert_true(owner_tag_start_ns(&o) <= now);
	assert_true(owner_tag_start_ns(&o) + 3600 * NS_PER_S > now);
	/* The same each time. */
	assert_true(owner_tag_read(getpid()).start_ticks == o.start_ticks);
}

TEST(a_process_that_has_ended_does_not_live)
{
	pid_t child = fork();
	siginfo_t info;

	if (!child) {
		pause();
		_exit(0);
	}
	assert_true(owner_tag_read(child).lives);
	kill(child, SIGKILL);
	/* Dead, but its parent has not looked. */
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	assert_false(owner_tag_read(child).lives);
	waitpid(child, NULL, 0);
	assert_false(owner_tag_read(child).lives);
	assert_int_equal(owner_tag_read(child).start_ticks, 0);
	assert_int_equal(owner_tag_start_ns(&(struct owner_tag){0}), 0);
}

TEST(names_are_new_each_time)
{
	char one[OWNER_NAME_SIZE], two[OWNER_NAME_SIZE], longer[OWNER_NAME_SIZE + 8];

	owner_tag_new_name(one);
	owner_tag_new_name(two);
	assert_string_not_equal(one, two);
	assert_true(owner_tag_is_in_name(one) && owner_tag_is_in_name(two));
	assert_false(owner_tag_is_stale(one));
	snprintf(longer, sizeof(longer), "%s_rss", one);
	assert_true(owner_tag_is_in_name(longer));
	/* As the kernel wants names of groups and events. */
	assert_int_equal(strspn(one, "abcdefghijklmnopqrstuvwxyz_0123456789"), strlen(one));
}

TEST(names_of_others)
{
	static const char *const names[] = {"",
					    "sonda",
					    "sonda_",
					    "sonda_1",
					    "sonda_1_2",
					    "sonda_1_2_",
					    "sonda_x_2_3",
					    "sonda_1_2_x",
					    "sonda_1_2_3x",
					    "sonda_-1_2_3",
					    "xsonda_1_2_3",
					    "uprobes"};

	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		assert_false(owner_tag_is_in_name(names[i]) || owner_tag_is_stale(names[i]));
}

TEST(names_of_processes_that_have_ended)
{
	char name[64];
	pid_t child;

	child = fork();
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	snprintf(name, sizeof(name), "sonda_%d_123_0", child);
	assert_true(owner_tag_is_stale(name));
	/* The number lives, but its process began at another moment. */
	snprintf(name, sizeof(name), "sonda_%d_123_0", getppid());
	assert_true(owner_tag_is_stale(name));
	snprintf(name, sizeof(name), "sonda_%d_%llu_0", getppid(),
		 (unsigned long long)owner_tag_read(getppid()).start_ticks);
	assert_false(owner_tag_is_stale(name));
	snprintf(name, sizeof(name), "sonda_%d_0_0",
		 getppid()); /* it could not distinguish its own */
	assert_false(owner_tag_is_stale(name));
}
