/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/capability.h>
#include <sys/resource.h>

#include "base/system/caps.h"
#include "unit/test.h"

/* A line of /proc/self/status, in hexadecimal. */
static uint64_t status_of(const char *field)
{
	unsigned long long value = ~0ull;
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, field, strlen(field)))
			sscanf(line + strlen(field), " %llx", &value);
	if (f)
		fclose(f);
	return value;
}

static bool keeps(const unsigned *keep, size_t n, uint64_t want)
{
	uint64_t had = status_of("CapPrm:"), bound = status_of("CapBnd:");
	bool may_shrink = status_of("CapEff:") & 1ull << CAP_SETPCAP;

	return caps_keep_only(keep, n) == 0 && status_of("NoNewPrivs:") == 1 &&
	       status_of("CapPrm:") == (want & had) && status_of("CapEff:") == (want & had) &&
	       status_of("CapInh:") == 0 && status_of("CapAmb:") == 0 &&
	       status_of("CapBnd:") == (may_shrink ? want & had : bound);
}

/* What is given up is gone, so in a process of its own. */
static bool in_child(bool (*run)(void))
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(run() ? 0 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status == 0;
}

static bool keep_none(void)
{
	return keeps(NULL, 0, 0);
}

static bool keep_two(void)
{
	static const unsigned two[] = {CAP_SYS_NICE, CAP_SYS_PTRACE};

	return keeps(two, 2, 1ull << CAP_SYS_NICE | 1ull << CAP_SYS_PTRACE);
}

static bool keep_less_and_less(void)
{
	static const unsigned two[] = {CAP_SYS_NICE, CAP_SYS_PTRACE};

	return keep_two() && keeps(two, 1, 1ull << CAP_SYS_NICE) && keep_none() && keep_none();
}

/* Only its own user's priority. */
static bool may_not_do_what_was_given_up(void)
{
	const struct rlimit none = {0, 0};

	if (setrlimit(RLIMIT_NICE, &none) < 0 || !keep_none())
		return false;
	return setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) - 1) < 0;
}

TEST(only_the_listed_capabilities_are_kept)
{
	static const struct {
		const char *name;
		bool (*run)(void);
	} rows[] = {
		{"nothing of an empty list", keep_none},
		{"those of a list", keep_two},
		{"fewer each time", keep_less_and_less},
		{"what is gone does not work", may_not_do_what_was_given_up},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!in_child(rows[i].run))
			fail_msg("%s", rows[i].name);
}
