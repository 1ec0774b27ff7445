/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/ebpf_config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/core/err.h"
#include "base/core/mem.h"
#include "subjects/cgroup_walk.h"
#include "subjects/subject.h"

/* Returns true if the path has a component "..". */
static bool has_dot_dot(const char *path)
{
	for (const char *p = path; *p;) {
		size_t n = strcspn(p, "/");

		if (n == 2 && p[0] == '.' && p[1] == '.')
			return true;
		p += n;
		p += strspn(p, "/");
	}
	return false;
}

/* Finds the id of a control group of version 2: the inode of its directory, in the mount points
 * fs/cgroup, or fs/cgroup/unified beside version 1. path is below the mount point ("/" is the root)
 * and must not lead out of it. Returns 0, or -errno and sets e. */
static int find_cgroup_id(const char *sys_root, const char *path, uint64_t *ret_id,
			  struct err_text *e)
{
	_cleanup_(closep) int root = -1;
	const char *below = path + strspn(path, "/");
	struct cgroup_mount mount;
	struct stat st;

	if (!cgroup_mount_find(sys_root, 0, &mount))
		return err_set(e, -ENOENT, "no cgroup2 file system is mounted below %s", sys_root);
	if (has_dot_dot(path))
		return err_set(e, -EINVAL, "'%.256s' is outside the cgroup2 mount", path);
	root = open(mount.path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return err_set(e, -errno, "%s: %s", mount.path, strerror(errno));
	if (fstatat(root, *below ? below : ".", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_set(e, -errno, "%.256s: %s", path, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return err_set(e, -ENOTDIR, "'%.256s' is not a control group", path);
	*ret_id = st.st_ino;
	return 0;
}

/* Returns the name of the family as in a config; NULL: unknown id. */
static const char *family_config_name(Pb__EbpfCountersConfig__Family id)
{
	const ProtobufCEnumValue *v = protobuf_c_enum_descriptor_get_value(
		&pb__ebpf_counters_config__family__descriptor, (int)id);

	return v ? v->name : NULL;
}

static void add_family(struct ebpf_config *s, const struct ebpf_family *f)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->families[i] == f)
			return;
	if (s->n < EBPF_FAMILIES_MAX)
		s->families[s->n++] = f;
}

static void add_family_by_id(struct ebpf_config *s, Pb__EbpfCountersConfig__Family id,
			     const struct ebpf_family *const *families, size_t n,
			     struct ebpf_errors *errors)
{
	const char *name = family_config_name(id);

	for (size_t i = 0; i < n; i++)
		if (families[i]->id == id) {
			add_family(s, families[i]);
			return;
		}
	ebpf_errors_add(errors, name ? name : "families", "unknown family %d", (int)id);
}

static bool has_outliers(const struct ebpf_config *s, enum ebpf_outliers kind)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->families[i]->outliers == kind)
			return true;
	return false;
}

static bool has_family(const struct ebpf_config *s, Pb__EbpfCountersConfig__Family id)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->families[i]->id == id)
			return true;
	return false;
}

static void set_outliers(struct ebpf_config *s, const Pb__EbpfCountersConfig__Outliers *o,
			 struct ebpf_errors *errors)
{
	const struct {
		enum ebpf_outliers kind;
		uint32_t us;
		const char *field, *family;
	} all[] = {
		{EBPF_OUTLIERS_RUNQ, o->runq_us, "runq_us", "RUNQ"},
		{EBPF_OUTLIERS_BLOCK, o->block_us, "block_us", "BLOCK"},
		{EBPF_OUTLIERS_RECLAIM, o->reclaim_us, "reclaim_us", "MEMORY"},
	};

	s->outliers_per_second = o->max_per_second ? o->max_per_second : EBPF_OUTLIERS_PER_SECOND;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		s->outlier_ns[all[i].kind] = (uint64_t)all[i].us * 1000;
		if (all[i].us && !has_outliers(s, all[i].kind))
			ebpf_errors_add(errors, "outliers",
					"%s has no effect without the family %s", all[i].field,
					all[i].family);
	}
}

static int copy_pids(struct ebpf_config *s, const Pb__EbpfCountersConfig *c,
		     struct ebpf_errors *errors)
{
	size_t n = MIN(c->n_pids, EBPF_PIDS_MAX);

	if (!n)
		return 0;
	if (n < c->n_pids)
		ebpf_errors_add(errors, "pids", "only the first %d of %zu are used", EBPF_PIDS_MAX,
				c->n_pids);
	s->pids = malloc(n * sizeof(*s->pids));
	if (!s->pids)
		return -ENOMEM;
	memcpy(s->pids, c->pids, n * sizeof(*s->pids));
	s->n_pids = n;
	return 0;
}

int ebpf_config_find_cgroups(struct ebpf_config *s, const Pb__EbpfCountersConfig *c,
			     const char *sys_root, struct ebpf_errors *errors)
{
	size_t n = c ? MIN(c->n_cgroups, EBPF_CGROUPS_MAX) : 0;
	struct err_text why;

	if (!n)
		return 0;
	if (n < c->n_cgroups)
		ebpf_errors_add(errors, "cgroups", "only the first %d of %zu are used",
				EBPF_CGROUPS_MAX, c->n_cgroups);
	s->cgroups = malloc(n * sizeof(*s->cgroups));
	if (!s->cgroups)
		return -ENOMEM;
	s->has_cgroups = true;
	for (size_t i = 0; i < n; i++)
		if (find_cgroup_id(sys_root, c->cgroups[i], &s->cgroups[s->n_cgroups], &why) == 0)
			s->n_cgroups++;
		else
			ebpf_errors_add(errors, "cgroups", "%s", why.text);
	return 0;
}

int ebpf_config_find_subject(struct ebpf_config *s, const Pb__SubjectConfig *c,
			     const char *sys_root, struct ebpf_errors *errors)
{
	struct err_text why;
	int r = subject_find_ids(c, sys_root, &s->subject, &why);

	if (r < 0)
		ebpf_errors_add(errors, "subject_config", "%s", why.text);
	return r == -ENOMEM ? r : 0;
}

static void add_program(struct ebpf_config *s, const char *name, struct ebpf_errors *errors)
{
	for (size_t i = 0; i < s->n_programs; i++)
		if (!strcmp(s->programs[i], name))
			return;
	if (s->n_programs == EBPF_PROGRAMS_MAX) {
		ebpf_errors_add(errors, "programs", "%.64s is skipped: the limit is %d", name,
				EBPF_PROGRAMS_MAX);
		return;
	}
	s->programs[s->n_programs] = strdup(name);
	if (s->programs[s->n_programs])
		s->n_programs++;
}

int ebpf_config_init(struct ebpf_config *s, const Pb__EbpfCountersConfig *c,
		     const struct ebpf_family *const *families, size_t n,
		     struct ebpf_errors *errors)
{
	bool is_default = !c || (!c->n_families && !c->n_programs && !c->n_histograms);

	*s = (struct ebpf_config){.period_ms = EBPF_PERIOD_MS, .top_n = EBPF_TOP_N};
	for (size_t i = 0; is_default && i < n; i++)
		if (families[i]->by_default)
			add_family(s, families[i]);
	if (!c)
		return 0;
	for (size_t i = 0; i < c->n_families; i++)
		add_family_by_id(s, c->families[i], families, n, errors);
	for (size_t i = 0; i < c->n_programs; i++)
		add_program(s, c->programs[i], errors);
	if (c->period_ms)
		s->period_ms = c->period_ms;
	if (c->top_n)
		s->top_n = MIN(c->top_n, EBPF_TOP_N_MAX);
	s->no_call_names = c->no_call_names;
	s->process_rows = c->process_rows;
	s->histogram_rows = c->histogram_rows;
	s->thread_rows = c->thread_rows;
	s->waits_by_cgroup = c->waits_by_cgroup;
	if (s->waits_by_cgroup && !has_family(s, PB__EBPF_COUNTERS_CONFIG__FAMILY__RUNQ))
		ebpf_errors_add(errors, "waits_by_cgroup", "no effect without the family RUNQ");
	if (s->thread_rows && !s->process_rows)
		ebpf_errors_add(errors, "thread_rows", "no effect without process_rows");
	s->max_overhead_percent = c->max_overhead_percent > 0 ? c->max_overhead_percent : 0;
	if (c->outliers)
		set_outliers(s, c->outliers, errors);
	return copy_pids(s, c, errors);
}

void ebpf_config_deinit(struct ebpf_config *s)
{
	for (size_t i = 0; i < s->n_programs; i++)
		free(s->programs[i]);
	s->n_programs = 0;
	free(s->pids);
	s->pids = NULL;
	free(s->cgroups);
	s->cgroups = NULL;
	subject_ids_deinit(&s->subject);
}
