/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/counters/cgroup_choice.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/system/log.h"
#include "base/text/str.h"

static const char *const default_roots[] = {"", NULL};
static const char *const default_files[] = {
	"cpu.stat",    "memory.current", "memory.stat",	 "memory.events",
	"io.stat",     "pids.current",	 "cpu.pressure", "memory.pressure",
	"io.pressure", "irq.pressure",	 NULL,
};
static const char *const default_counters[] = {
	"cpu.stat usage_usec",	   "cpu.stat user_usec",
	"cpu.stat system_usec",	   "cpu.stat nr_throttled",
	"cpu.stat throttled_usec", "memory.current",
	"memory.stat anon",	   "memory.stat file",
	"memory.stat kernel",	   "memory.stat shmem",
	"memory.stat file_dirty",  "memory.stat file_writeback",
	"memory.stat pgmajfault",  "memory.stat workingset_refault_*",
	"memory.events *",	   "io.stat * [rw]bytes",
	"io.stat * [rw]ios",	   "pids.current",
	"*.pressure * total",	   NULL,
};

/* The kind of each counter, by the first matching pattern. Microseconds are written as ns. */
static const struct rule {
	const char *pattern;
	struct track_spec spec;
} rules[] = {
	{"* *_usec", {.unit = TRACK_UNIT_NS, .unit_multiplier = 1000, .total = true}},
	{"*.pressure * total", {.unit = TRACK_UNIT_NS, .unit_multiplier = 1000, .total = true}},
	{"*.pressure * avg*", {.unit_name = "%"}},
	{"cgroup.events *", {.unit = TRACK_UNIT_COUNT}},
	{"*.events* *", {.unit = TRACK_UNIT_COUNT, .total = true}},
	{"cpu.stat* *", {.unit = TRACK_UNIT_COUNT, .total = true}},
	{"io.stat * *bytes", {.unit = TRACK_UNIT_BYTES, .total = true}},
	{"io.stat *", {.unit = TRACK_UNIT_COUNT, .total = true}},
	{"memory.*stat pg*", {.unit = TRACK_UNIT_COUNT, .total = true}},
	{"memory.*stat thp_*", {.unit = TRACK_UNIT_COUNT, .total = true}},
	{"memory.*stat zswp*", {.unit = TRACK_UNIT_COUNT, .total = true}},
	{"memory.*stat swp*", {.unit = TRACK_UNIT_COUNT, .total = true}},
	{"memory.*stat numa_*", {.unit = TRACK_UNIT_COUNT, .total = true}},
	{"memory.*stat workingset_*", {.unit = TRACK_UNIT_COUNT, .total = true}},
	{"memory.*", {.unit = TRACK_UNIT_BYTES}},
	{"hugetlb.*", {.unit = TRACK_UNIT_BYTES}},
	{"*", {.unit = TRACK_UNIT_COUNT}},
};

static unsigned cgroup_choice_count_levels(const char *path)
{
	unsigned n = path[0] ? 1 : 0;

	for (; *path; path++)
		n += *path == '/';
	return n;
}

static void cgroup_choice_trim_slashes(char *s)
{
	size_t n;

	memmove(s, s + strspn(s, "/"), strlen(s) - strspn(s, "/") + 1);
	n = strlen(s);
	while (n > 0 && s[n - 1] == '/')
		s[--n] = '\0';
}

static int cgroup_choice_init_roots(struct cgroup_choice *ch, const Pb__CgroupStatsConfig *c)
{
	int r = counter_patterns_init(&ch->roots, "linux.cgroup_stats: cgroups",
				      c ? c->cgroups : NULL, c ? c->n_cgroups : 0, default_roots);

	for (size_t i = 0; r == 0 && i < ch->roots.n; i++) {
		cgroup_choice_trim_slashes(ch->roots.all[i]);
		ch->levels = MAX(ch->levels, cgroup_choice_count_levels(ch->roots.all[i]));
	}
	return r;
}

/* Returns true if name is a file in the directory of a control group and leads to no other
 * place. */
static bool cgroup_choice_is_file_name(const char *name)
{
	return name[0] && name[0] != '.' && !strchr(name, '/') && strlen(name) <= NAME_MAX;
}

static void cgroup_choice_drop_bad_files(struct counter_patterns *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->n; i++) {
		if (cgroup_choice_is_file_name(p->all[i])) {
			p->all[kept++] = p->all[i];
			continue;
		}
		if (i == kept)
			log_warn("linux.cgroup_stats: files: '%.64s' is not the name of a control "
				 "group file; this and similar entries are skipped",
				 p->all[i]);
		free(p->all[i]);
	}
	p->left_out += p->n - kept;
	p->n = kept;
}

int cgroup_choice_init(struct cgroup_choice *ch, const Pb__CgroupStatsConfig *c)
{
	int r;

	*ch = (struct cgroup_choice){0};
	ch->max_depth = c && c->has_max_depth ? c->max_depth : UINT32_MAX;
	r = cgroup_choice_init_roots(ch, c);
	if (r == 0)
		r = counter_patterns_init(&ch->files, "linux.cgroup_stats: files",
					  c ? c->files : NULL, c ? c->n_files : 0, default_files);
	if (r == 0)
		cgroup_choice_drop_bad_files(&ch->files);
	if (r == 0)
		r = counter_patterns_init(&ch->counters, "linux.cgroup_stats: counters",
					  c ? c->counters : NULL, c ? c->n_counters : 0,
					  default_counters);
	return r;
}

void cgroup_choice_deinit(struct cgroup_choice *ch)
{
	counter_patterns_deinit(&ch->roots);
	counter_patterns_deinit(&ch->files);
	counter_patterns_deinit(&ch->counters);
}

bool cgroup_choice_is_root(const struct cgroup_choice *ch, const char *path)
{
	for (size_t i = 0; i < ch->roots.n; i++)
		if (fnmatch(ch->roots.all[i], path, FNM_PATHNAME | FNM_NOESCAPE) == 0)
			return true;
	return false;
}

bool cgroup_choice_select_counter(const struct cgroup_choice *ch, const char *shown,
				  struct track_spec *ret_spec)
{
	size_t i = 0;

	if (!counter_patterns_match(&ch->counters, shown))
		return false;
	while (!str_glob(rules[i].pattern, shown))
		i++; /* the last pattern matches everything */
	*ret_spec = rules[i].spec;
	return true;
}
