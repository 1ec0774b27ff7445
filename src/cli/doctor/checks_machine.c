/* SPDX-License-Identifier: Apache-2.0 */
/* Clock, disk and memory, and the ring that survives a crash. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/system/memory_limit.h"
#include "cli/doctor/doctor_check.h"
#include "cli/terminal/crash_ring.h"
#include "cli/trace/trace_file.h"
#include "config/limits.h"

void check_clock(struct doctor_machine *m, struct doctor_finding *f)
{
	static const char directory[] = "devices/system/clocksource/clocksource0";
	static const char *const slow[] = {"hpet", "acpi_pm", "refined-jiffies", "jiffies", "pit"};
	char name[64], all[256], path[512];

	snprintf(path, sizeof(path), "%s/%s", m->sys, directory);
	doctor_read_line(path, "current_clocksource", name, sizeof(name));
	doctor_read_line(path, "available_clocksource", all, sizeof(all));
	for (size_t i = 0; i < ARRAY_SIZE(slow); i++) {
		if (strcmp(name, slow[i]) != 0)
			continue;
		doctor_set_finding(
			f, DOCTOR_LIMIT,
			"the clocksource is %s: each timestamp costs about a microsecond", name);
		if (strstr(all, "tsc"))
			doctor_set_remedy(f, "echo tsc | sudo tee %s/current_clocksource", path);
		return;
	}
	doctor_set_finding(f, DOCTOR_OK, "the clocksource is %s", *name ? name : "unknown");
}

#define LITTLE_ROOM (256ull << 20)

void check_disk(struct doctor_machine *m, struct doctor_finding *f)
{
	char bytes[32], kept[32];
	struct statvfs fs;
	uint64_t free_bytes, room;

	if (statvfs(m->dir, &fs)) {
		doctor_set_finding(f, DOCTOR_FAULT, "%s: %s", m->dir, strerror(errno));
		return;
	}
	free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	room = trace_file_room_of(&fs);
	str_bytes(free_bytes, bytes);
	str_bytes(free_bytes - room, kept);
	if (fs.f_flag & ST_RDONLY || access(m->dir, W_OK)) {
		doctor_set_finding(f, DOCTOR_NOTE, "this user may not write to %s", m->dir);
		doctor_set_remedy(f, "sonda record -o /tmp/trace.pftrace EVENT...");
	} else if (room == 0) {
		doctor_set_finding(f, DOCTOR_FAULT,
				   "the file system of %s is nearly full: %s free, and a "
				   "recording leaves at least that much free",
				   m->dir, bytes);
		doctor_set_remedy(f, "sonda record -o DIRECTORY/trace.pftrace EVENT...");
	} else if (room < LITTLE_ROOM) {
		doctor_set_finding(
			f, DOCTOR_NOTE,
			"%s has little space: %s free, and a recording stops when %s is left",
			m->dir, bytes, kept);
		doctor_set_remedy(f, "sonda record -o DIRECTORY/trace.pftrace EVENT...");
	} else {
		doctor_set_finding(f, DOCTOR_OK, "%s free in %s", bytes, m->dir);
	}
}

/* Memory that sonda-probes takes for each CPU by default, and the service for a recording. */
#define RING_BYTES (8ull << 20)
#define BUFFER_BYTES ((uint64_t)DEFAULT_RECORD_BUFFER_KB << 10)

/* Returns the memory limit of the control groups of this process, in which its daemons would run;
 * UINT64_MAX: none, unknown, or a service records. */
static uint64_t read_cgroup_memory_limit(const struct doctor_machine *m)
{
	char groups[512], mounts[512];

	if (doctor_uses_service(m) || fs_join(groups, sizeof(groups), m->proc, "self/cgroup") ||
	    fs_join(mounts, sizeof(mounts), m->sys, "fs/cgroup"))
		return UINT64_MAX;
	return memory_limit_of_cgroup(groups, mounts);
}

void check_memory(struct doctor_machine *m, struct doctor_finding *f)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	uint64_t need = (uint64_t)MAX(cpus, 1) * RING_BYTES + BUFFER_BYTES,
		 has = memory_available(m->proc);
	uint64_t limit = read_cgroup_memory_limit(m);
	char a[32], b[32], c[32];

	str_bytes(need, a);
	str_bytes(has, b);
	str_bytes(limit, c);
	if (limit < need * 2) {
		doctor_set_finding(f, DOCTOR_LIMIT,
				   "this process's control group is limited to %s of memory, and a "
				   "recording takes up to %s: rings for %ld CPUs and a buffer",
				   c, a, cpus);
		doctor_set_remedy(f, "sonda record -B 512kb -b 8mb EVENT...");
	} else if (has == UINT64_MAX) {
		doctor_set_finding(f, DOCTOR_OK, "unknown");
	} else if (has < need * 2) {
		doctor_set_finding(f, DOCTOR_LIMIT,
				   "%s of memory is available, and a recording takes up to %s: "
				   "rings for %ld CPUs and a buffer",
				   b, a, cpus);
		doctor_set_remedy(f, "sonda record -B 512kb -b 8mb EVENT...");
	} else {
		doctor_set_finding(f, DOCTOR_OK,
				   "%s available; a recording takes up to %s by default", b, a);
	}
}

void check_crash(struct doctor_machine *m, struct doctor_finding *f)
{
	struct crash_ring ring;
	char bytes[32];

	crash_ring_find(m->proc, m->tracefs, &ring);
	switch (ring.state) {
	case CRASH_RING_RECORDS:
		doctor_set_finding(f, DOCTOR_OK,
				   "armed: a ring of %s survives a crash; read it after the reboot "
				   "with: sonda report --boot -1",
				   str_bytes(ring.bytes, bytes));
		break;
	case CRASH_RING_LINE_ONLY:
	case CRASH_RING_NOT_KEPT:
	case CRASH_RING_STOPPED:
		doctor_set_finding(f, DOCTOR_NOTE, "nothing would survive a crash: %s",
				   crash_ring_state_text(ring.state));
		if (ring.state == CRASH_RING_STOPPED)
			doctor_set_remedy(f, "sudo sonda recorder enable --crash");
		break;
	default: /* it was not requested */
		doctor_set_finding(f, DOCTOR_OK, "not armed: %s",
				   crash_ring_state_text(ring.state));
	}
}
