/* SPDX-License-Identifier: Apache-2.0 */
#include "base/system/process_uuids.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/core/hash_table.h"
#include "base/core/process_uuid.h"
#include "base/system/fs.h"

#define STAT_MAX 1024

struct known_process {
	int32_t pid;
	uint64_t uuid;
	UT_hash_handle hh;
};

static struct known_process *known_processes; /* owned, by pid */

static uint64_t read_process_uuid(int32_t pid)
{
	struct strbuf stat = {0};
	uint64_t ticks = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (fs_read_file(path, STAT_MAX, &stat) == 0 && stat.s)
		process_start_ticks(stat.s, &ticks);
	strbuf_deinit(&stat);
	return process_uuid_of(ticks, pid);
}

uint64_t process_uuids_get(int32_t pid)
{
	struct known_process *p;

	HASH_FIND(hh, known_processes, &pid, sizeof(pid), p);
	if (p)
		return p->uuid;
	p = HASH_COUNT(known_processes) < PROCESS_UUIDS_MAX ? malloc(sizeof(*p)) : NULL;
	if (!p)
		return process_uuid_of(0, pid);
	*p = (struct known_process){.pid = pid, .uuid = read_process_uuid(pid)};
	HASH_ADD(hh, known_processes, pid, sizeof(p->pid), p);
	if (p->hh.tbl)
		return p->uuid;
	free(p);
	return process_uuid_of(0, pid);
}

void process_uuids_clear(void)
{
	HASH_FREE(known_processes);
}
