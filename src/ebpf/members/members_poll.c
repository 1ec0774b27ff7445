/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/members/members_poll.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/text/str.h"

#define TEXT_MAX 8192 /* a path has at most 4096 bytes; version 1 has a line for each controller */
#define DELETED " (deleted)"

bool members_poll_parse(struct span text, struct span *ret)
{
	struct span line;

	while (span_next_line(&text, &line)) {
		size_t suffix = sizeof(DELETED) - 1;

		if (line.len < 4 || memcmp(line.p, "0::/", 4) != 0)
			continue;
		*ret = (struct span){line.p + 3, line.len - 3};
		if (ret->len > suffix && !memcmp(ret->p + ret->len - suffix, DELETED, suffix))
			ret->len -= suffix;
		return true;
	}
	return false;
}

void members_poll_begin(struct members_poll *p)
{
	p->began = clock_mono_ns();
	if (!p->dir)
		p->dir = opendir(p->proc_root);
}

static void read_process(const struct members_poll *p, uint32_t pid, struct members_packets *to)
{
	char path[64], text[TEXT_MAX];
	struct group_entry *e;
	struct span group;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%u/cgroup", pid);
	fd = openat(dirfd(p->dir), path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	closep(&fd);
	if (n <= 0 || !members_poll_parse((struct span){text, (size_t)n}, &group))
		return;
	text[group.p - text + (ptrdiff_t)group.len] = '\0';
	e = member_groups_find(to->groups, group.p);
	if (!e) {
		to->groups->has_unknown = true;
		return;
	}
	members_packets_add_row(
		to, &(struct member_row){.tgid = pid, .time = clock_boot_ns(), .group = e->id},
		true);
}

bool members_poll_step(struct members_poll *p, struct members_packets *to)
{
	struct dirent *d = p->dir ? readdir(p->dir) : NULL;
	uint32_t pid;

	if (d) {
		if (str_to_u32(d->d_name, &pid) == 0)
			read_process(p, pid, to);
		return true;
	}
	if (p->dir)
		p->took = clock_mono_ns() - p->began;
	members_poll_deinit(p);
	return false;
}

void members_poll_deinit(struct members_poll *p)
{
	if (p->dir)
		closedir(p->dir);
	p->dir = NULL;
}
