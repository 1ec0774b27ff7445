/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/members/members_poll.h"

#include <string.h>

#include "base/core/mem.h"
#include "unit/test.h"

TEST(files_of_proc)
{
	static const struct {
		const char *text, *group; /* NULL: none */
	} cases[] = {
		{"0::/\n", "/"},
		{"0::/system.slice/cron.service\n", "/system.slice/cron.service"},
		{"12:cpu,cpuacct:/docker/1\n1:name=systemd:/x\n0::/user.slice\n", "/user.slice"},
		{"0::/gone (deleted)\n", "/gone"},
		{"0::/a (deleted) b\n", "/a (deleted) b"},
		{"0::/no newline", "/no newline"},
		{"10::/\n", NULL},
		{"1:cpu:/0::/x\n", NULL},
		{"0::", NULL},
		{"", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct span group;
		bool found = members_poll_parse((struct span){cases[i].text, strlen(cases[i].text)},
						&group);

		assert_int_equal(found, cases[i].group != NULL);
		if (found)
			assert_true(span_is(group, cases[i].group));
	}
}
