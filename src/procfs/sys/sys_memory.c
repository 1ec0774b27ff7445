/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "base/core/mem.h"
#include "gen/fields.h"
#include "procfs/sys/sys_file.h"
#include "procfs/sys/sys_source.h"
#include "procfs/sys/sys_table.h"

/* /proc/meminfo, in kB as it stands there, and /proc/vmstat: tables of a name and a number. */

struct sys_memory {
	struct sys_file file;
	struct sys_table table;
	struct sys_trouble trouble;
};

/* The kernel's names of the numbers 1 to 38 (enum MeminfoCounters), in their order. */
static const char *const meminfo_names[] = {
	"MemTotal",	"MemFree",	  "MemAvailable",  "Buffers",	   "Cached",
	"SwapCached",	"Active",	  "Inactive",	   "Active(anon)", "Inactive(anon)",
	"Active(file)", "Inactive(file)", "Unevictable",   "Mlocked",	   "SwapTotal",
	"SwapFree",	"Dirty",	  "Writeback",	   "AnonPages",	   "Mapped",
	"Shmem",	"Slab",		  "SReclaimable",  "SUnreclaim",   "KernelStack",
	"PageTables",	"CommitLimit",	  "Committed_AS",  "VmallocTotal", "VmallocUsed",
	"VmallocChunk", "CmaTotal",	  "CmaFree",	   "Gpu",	   "Zram",
	"Misc",		"ION_heap",	  "ION_heap_pool",
};
_Static_assert(ARRAY_SIZE(meminfo_names) == PB__MEMINFO_COUNTERS__MEMINFO_ION_HEAP_POOL,
	       "one name for each number");

static uint32_t meminfo_number(struct span name)
{
	for (uint32_t i = 0; i < ARRAY_SIZE(meminfo_names); i++)
		if (span_is(name, meminfo_names[i]))
			return i + 1;
	return 0;
}

/* The kernel's name in upper case is that of the number (enum VmstatCounters). */
static uint32_t vmstat_number(struct span name)
{
	char key[64] = "VMSTAT_";
	const size_t at = strlen(key);
	const ProtobufCEnumValue *v;

	if (name.len >= sizeof(key) - at)
		return 0;
	for (size_t i = 0; i < name.len; i++)
		key[at + i] = (char)toupper((unsigned char)name.p[i]);
	v = protobuf_c_enum_descriptor_get_value_by_name(&pb__vmstat_counters__descriptor, key);
	return v ? (uint32_t)v->value : 0;
}

static bool is_never_total(struct span name)
{
	(void)name;
	return false;
}

/* What is there now begins with nr_; all others count what happened. */
static bool is_event(struct span name)
{
	return !(name.len >= 3 && memcmp(name.p, "nr_", 3) == 0);
}

static int open_memory(struct sys_poll *p, const struct sys_source *source, bool whole,
		       struct sys_memory **ret_s)
{
	struct sys_memory *s = calloc(1, sizeof(*s));

	if (!s || sys_file_init(&s->file, whole, p->proc_root, "%s", source->name) < 0) {
		free(s);
		return -ENOMEM;
	}
	s->trouble.what = source->name;
	*ret_s = s;
	return 0;
}

static int meminfo_open(struct sys_poll *p, const Pb__SysStatsConfig *c, void **ret_state)
{
	struct sys_memory *s;
	int r = open_memory(p, &sys_meminfo, true, &s);

	if (r < 0)
		return r;
	s->table = (struct sys_table){
		.field = PB_SYS_STATS_MEMINFO,
		.number_of = meminfo_number,
		.is_total = is_never_total,
	};
	sys_table_choose(&s->table, p, "meminfo", &pb__meminfo_counters__descriptor,
			 (const int *)c->meminfo_counters, c->n_meminfo_counters);
	*ret_state = s;
	return 0;
}

static int vmstat_open(struct sys_poll *p, const Pb__SysStatsConfig *c, void **ret_state)
{
	struct sys_memory *s;
	int r = open_memory(p, &sys_vmstat, false, &s);

	if (r < 0)
		return r;
	s->table = (struct sys_table){
		.field = PB_SYS_STATS_VMSTAT,
		.number_of = vmstat_number,
		.is_total = is_event,
	};
	sys_table_choose(&s->table, p, "vmstat", &pb__vmstat_counters__descriptor,
			 (const int *)c->vmstat_counters, c->n_vmstat_counters);
	*ret_state = s;
	return 0;
}

static int memory_parse(void *state, struct sys_poll *p, struct span text)
{
	struct sys_memory *s = state;

	return sys_table_parse(&s->table, p, text);
}

static bool memory_step(void *state, struct sys_poll *p)
{
	struct sys_memory *s = state;

	sys_file_poll(&s->file, p, &s->trouble, memory_parse, s);
	return false;
}

static void memory_close(void *state, struct sys_poll *p)
{
	struct sys_memory *s = state;

	sys_file_deinit(&s->file, p);
	sys_table_deinit(&s->table);
	free(s);
}

const struct sys_source sys_meminfo = {
	.name = "meminfo",
	.period = offsetof(Pb__SysStatsConfig, meminfo_period_ms),
	.open = meminfo_open,
	.step = memory_step,
	.parse = memory_parse,
	.close = memory_close,
};

const struct sys_source sys_vmstat = {
	.name = "vmstat",
	.period = offsetof(Pb__SysStatsConfig, vmstat_period_ms),
	.open = vmstat_open,
	.step = memory_step,
	.parse = memory_parse,
	.close = memory_close,
};
