/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/members/members_program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "ebpf/engine/images.h"
#include "ebpf/engine/map.h"
#include "ebpf/engine/object.h"
#include "ebpf/engine/ring.h"

EBPF_DECLARE(members);

static const struct ebpf_need needs[] = {
	NEED_TP_BTF("task_newtask", 1, 8),
	NEED_TP_BTF("sched_process_exec", 1, 8),
	NEED_TP_BTF("cgroup_attach_task", 4, 4),
	NEED_TP_BTF("cgroup_mkdir", 2, 2),
	NEED_TP_BTF("cgroup_rmdir", 2, 2),
	NEED_MEMBER("css_set", "dfl_cgrp"),
	NEED_END,
};

static const struct ebpf_variant variant = {"tp_btf", EBPF_IMAGE(members), needs};

struct members_program {
	struct ebpf_object *object; /* owned */
	struct ebpf_ring ring;
	struct map_cpus lost;
};

/* Loads the programs. Some old kernels refuse one that reads a pointer to char, such as the path of
 * cgroup_mkdir. Without this program new groups are found by walks. */
static int load_object(struct members_program *p, bool reads_paths, struct err_text *e)
{
	const struct ebpf_scope scope = {.own_pid = 0};
	int r = ebpf_object_open(&variant.image, &p->object, e);

	if (r < 0)
		return r;
	if (!reads_paths)
		ebpf_object_leave_out_program(p->object, "on_mkdir");
	r = ebpf_object_load(p->object, &scope, 0, e);
	if (r < 0) {
		ebpf_object_free(p->object);
		p->object = NULL;
	}
	return r;
}

static int members_program_load_and_attach(struct members_program *p, struct err_text *e)
{
	struct err_text second;
	int r = load_object(p, true, e);

	/* If both fail, the error of the first one is more useful. */
	if (r < 0 && r != -EPERM && load_object(p, false, &second) == 0)
		r = 0;
	if (r < 0)
		return r;
	r = ebpf_ring_init(&p->ring, ebpf_object_map(p->object, "members"), MEMBERS_RING);
	if (r == 0)
		r = map_cpus_init(&p->lost, ebpf_object_map(p->object, "lost"), ebpf_count_cpus(),
				  sizeof(uint64_t));
	if (r < 0)
		return err_set(e, r, "members.bpf.o: cannot set up the maps: %s", strerror(-r));
	return ebpf_object_attach(p->object, e);
}

static void members_program_freep(struct members_program **p)
{
	members_program_free(*p);
}

int members_program_new(const char *tracefs_root, struct members_program **ret, struct err_text *e)
{
	_cleanup_(members_program_freep) struct members_program *p = calloc(1, sizeof(*p));
	struct ebpf_features f;
	int r = p ? ebpf_features_new(tracefs_root, &f) : -ENOMEM;

	if (r < 0)
		return err_set(e, r, "out of memory");
	r = ebpf_choose_variant(&f, &variant, 1, 0, e);
	if (r >= 0)
		r = members_program_load_and_attach(p, e);
	ebpf_features_free(&f);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(p);
	return 0;
}

void members_program_free(struct members_program *p)
{
	if (!p)
		return;
	ebpf_ring_deinit(&p->ring);
	map_cpus_deinit(&p->lost);
	ebpf_object_free(p->object);
	free(p);
}

static bool is_valid_record(const void *record, uint32_t size, uint32_t type)
{
	const struct member_group *g = record;
	size_t head = offsetof(struct member_group, path);

	switch (type) {
	case MEMBER_ROW:
		return size >= sizeof(struct member_row);
	case MEMBER_GROUP:
		return size > head && memchr(g->path, '\0', size - head);
	case MEMBER_GROUP_END:
		return size >= head;
	}
	return false;
}

const void *members_program_peek(struct members_program *p, uint32_t *ret_type)
{
	const void *record;
	uint32_t size;

	while ((record = ebpf_ring_peek(&p->ring, &size))) {
		uint32_t type = 0;

		if (size >= sizeof(type))
			memcpy(&type, record, sizeof(type));
		if (is_valid_record(record, size, type)) {
			*ret_type = type;
			return record;
		}
		ebpf_ring_consume(&p->ring);
	}
	return NULL;
}

void members_program_consume(struct members_program *p)
{
	ebpf_ring_consume(&p->ring);
}

uint64_t members_program_count_lost(struct members_program *p)
{
	uint64_t lost = 0;

	(void)map_cpus_sum(&p->lost, &lost);
	return lost;
}

int members_program_watched_fd(const struct members_program *p)
{
	return ebpf_object_map(p->object, "members");
}

int members_program_open_threads(const struct members_program *p)
{
	return ebpf_object_open_iterator(p->object, "each_member");
}
