/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/engine/object.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/core/mem.h"
#include "base/system/priority_boost.h"
#include "base/text/str.h"
#include "bpf/cgroup_name_hash.h"
#include "bpf/settings.h"

/* Selects one line of libbpf's log after an error: the last line of the verifier that is not
 * statistics, or else the first line of the log, because the others follow from it. */
struct libbpf_log {
	char error[200];
	char verifier[200];
};

#define PREFIX "libbpf: "

static void copy_log_line(char *to, size_t size, const char *line)
{
	snprintf(to, size, "%s", line);
	str_make_plain(to, strlen(to), "");
}

static bool is_statistics_line(const char *line)
{
	static const char *const starts[] = {"processed ", "verification time", "stack depth",
					     "-- END",	   "peak_states",	"max_states",
					     "old state:", "cur state:"};

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		if (str_starts(line, starts[i]))
			return true;
	return !*line;
}

static void copy_verifier_line(struct libbpf_log *w, char *text)
{
	char *rest = text, *line;
	unsigned helper;

	while ((line = strsep(&rest, "\n")))
		if (!is_statistics_line(line))
			copy_log_line(w->verifier, sizeof(w->verifier), line);
	if (sscanf(w->verifier, "invalid func unknown#%u", &helper) == 1)
		snprintf(w->verifier, sizeof(w->verifier), "the kernel has no BPF helper %u",
			 helper);
}

static void libbpf_log_add(struct libbpf_log *w, const char *fmt, va_list args)
{
	_cleanup_(freep) char *text = NULL;
	char *log;

	if (vasprintf(&text, fmt, args) < 0) {
		text = NULL;
		return;
	}
	log = strstr(text, "BEGIN PROG LOAD LOG");
	if (log) {
		log = strchrnul(log, '\n');
		copy_verifier_line(w, log);
	} else if (!w->error[0]) {
		text[strcspn(text, "\n")] = '\0';
		copy_log_line(w->error, sizeof(w->error),
			      text + (str_starts(text, PREFIX) ? strlen(PREFIX) : 0));
	}
}

/* Returns the line without a newline, or "" if there is none. */
static const char *libbpf_log_line(const struct libbpf_log *w)
{
	return w->verifier[0] ? w->verifier : w->error;
}

/*
 * libbpf logs the reason of an error in several lines, one of which contains the whole log of the
 * verifier. The lines are collected during each call, and the most useful one is part of the error.
 * There is only one thread.
 */

#define PROGRAMS_MAX 64

_Static_assert(sizeof(((struct subject_ids *)0)->programs) ==
		       sizeof(((struct sonda_settings *)0)->programs),
	       "names of programs are copied");

struct ebpf_object {
	const char *name; /* borrowed from the image */
	struct bpf_object *obj; /* owned */
	struct bpf_link *links[PROGRAMS_MAX]; /* owned */
	struct bpf_program *programs[PROGRAMS_MAX];
	unsigned n;
	bool is_foreign;
	uint64_t generation;
	const struct subject_ids *subject; /* borrowed from the load until it is attached */
	uint32_t edition; /* of the groups of the scope (bpf/cgroups.h) */
	struct sonda_field fields[SONDA_FIELDS];
};

static struct libbpf_log words;

static int on_libbpf_message(enum libbpf_print_level level, const char *fmt, va_list args)
{
	if (level == LIBBPF_WARN)
		libbpf_log_add(&words, fmt, args);
	return 0;
}

static void libbpf_log_begin(void)
{
	words = (struct libbpf_log){.error = {0}};
	libbpf_set_print(on_libbpf_message);
}

static int object_set_error(const struct ebpf_object *o, int r, const char *what,
			    struct err_text *e)
{
	const char *line = libbpf_log_line(&words);
	char error[128];

	/* A rejection by the verifier is EACCES and has a log. */
	if (r == -EPERM)
		return err_set(e, r, "permission denied: CAP_BPF and CAP_PERFMON are required");
	/* libbpf before and after 1.5 */
	if (strstr(words.error, "failed to find valid kernel BTF") ||
	    strstr(words.error, "kernel BTF is missing"))
		return err_set(e, r, "the kernel has no BTF (/sys/kernel/btf/vmlinux)");
	/* Every other kernel that has BTF has this helper. */
	if (strstr(line, "helper bpf_probe_read") || strstr(line, "unknown func bpf_probe_read"))
		return err_set(e, r,
			       "the kernel is locked down (lockdown=confidentiality): BPF programs "
			       "may not read kernel memory");
	/* libbpf has error numbers of its own. */
	(void)libbpf_strerror(r, error, sizeof(error));
	return err_set(e, r, "%s.bpf.o could not be %s: %s%s%s", o->name, what, error,
		       *line ? ": " : "", line);
}

/* Refuses a program with a pinned map, which would outlive the recording, or belong to another
 * process. */
static int refuse_pinned_maps(const struct ebpf_object *o, struct err_text *e)
{
	const struct bpf_map *m;

	bpf_object__for_each_map(m, o->obj)
	{
		if (bpf_map__pin_path(m))
			return err_set(e, -EINVAL,
				       "%s.bpf.o: map '%s' would be pinned and outlive the "
				       "recording; remove LIBBPF_PIN_BY_NAME",
				       o->name, bpf_map__name(m));
	}
	return 0;
}

int ebpf_object_open(const struct ebpf_image *image, struct ebpf_object **ret, struct err_text *e)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = image->name);
	_cleanup_(ebpf_object_freep) struct ebpf_object *o = calloc(1, sizeof(*o));
	struct bpf_program *p;
	int r;

	if (!o)
		return err_set(e, -ENOMEM, "%s: out of memory", image->name);
	o->name = image->name;
	o->is_foreign = image->is_foreign;
	o->generation = 1;
	libbpf_log_begin();
	o->obj = bpf_object__open_mem(image->begin, (size_t)(image->end - image->begin), &options);
	if (!o->obj)
		return object_set_error(o, -errno, "read", e);
	bpf_object__for_each_program(p, o->obj)
	{
		if (o->n == PROGRAMS_MAX)
			return err_set(e, -E2BIG, "%s has more than %d programs", o->name,
				       PROGRAMS_MAX);
		o->programs[o->n++] = p;
	}
	r = refuse_pinned_maps(o, e);
	if (r == 0)
		*ret = TAKE_PTR(o);
	return r;
}

void ebpf_object_resize(struct ebpf_object *o, const char *map, uint32_t max_entries)
{
	struct bpf_map *m = bpf_object__find_map_by_name(o->obj, map);

	if (m)
		bpf_map__set_max_entries(m, max_entries);
}

void ebpf_object_set_map_flags(struct ebpf_object *o, const char *map, uint32_t flags)
{
	struct bpf_map *m = bpf_object__find_map_by_name(o->obj, map);

	if (m)
		bpf_map__set_map_flags(m, bpf_map__map_flags(m) | flags);
}

void ebpf_object_leave_out_map(struct ebpf_object *o, const char *map)
{
	struct bpf_map *m = bpf_object__find_map_by_name(o->obj, map);

	if (m)
		bpf_map__set_autocreate(m, false);
}

int ebpf_object_use_map(struct ebpf_object *o, const char *map, int fd)
{
	struct bpf_map *m = bpf_object__find_map_by_name(o->obj, map);

	return m ? bpf_map__reuse_fd(m, fd) : -ENOENT;
}

bool ebpf_object_has_map(const struct ebpf_object *o, const char *map)
{
	return bpf_object__find_map_by_name(o->obj, map) != NULL;
}

void ebpf_object_leave_out_program(struct ebpf_object *o, const char *program)
{
	struct bpf_program *p = bpf_object__find_program_by_name(o->obj, program);

	if (p)
		bpf_program__set_autoload(p, false);
}

struct sonda_field *ebpf_object_fields(struct ebpf_object *o)
{
	return o->fields;
}

void ebpf_object_set_constants(struct ebpf_object *o, const char *section, const void *data,
			       size_t size)
{
	struct bpf_map *m = bpf_object__find_map_by_name(o->obj, section);

	if (m)
		(void)bpf_map__set_initial_value(m, data, size);
}

static bool scope_has_groups(const struct ebpf_scope *s)
{
	return s->has_cgroups || (s->subject && s->subject->is_set && !s->subject->n_programs);
}

/* Room for groups of the subject that are created later. A unit creates one each time it starts. */
#define LATER_GROUPS 4096u

static bool may_have_later_groups(const struct subject_ids *s)
{
	return s && (s->n_names || s->n_containers || s->n_pods);
}

static void set_scope_of_groups(struct ebpf_object *o, const struct ebpf_scope *scope)
{
	const struct subject_ids *s = scope->subject;
	size_t n_later = may_have_later_groups(s) ? LATER_GROUPS : 0;

	if (s && s->n_names) {
		ebpf_object_resize(o, "sonda_awaited", (uint32_t)s->n_names);
	} else {
		ebpf_object_leave_out_program(o, "on_awaited_group");
		ebpf_object_leave_out_map(o, "sonda_awaited");
	}
	if (scope_has_groups(scope)) {
		size_t n = scope->n_cgroups + (s ? s->n_groups : 0) + n_later;

		ebpf_object_resize(o, "sonda_cgroups", (uint32_t)MAX(n, 1u));
		return;
	}
	ebpf_object_leave_out_map(o, "sonda_cgroups");
	ebpf_object_leave_out_map(o, "sonda_cgroups_seen");
	ebpf_object_leave_out_map(o, "sonda_cgroups_edition");
}

static void set_scope(struct ebpf_object *o, const struct ebpf_scope *scope)
{
	if (scope->n_pids)
		ebpf_object_resize(o, "sonda_pids",
				   (uint32_t)(scope->n_pids + scope->n_later_pids));
	else
		ebpf_object_leave_out_map(o, "sonda_pids");
	set_scope_of_groups(o, scope);
}

static int fill_set_map(const struct ebpf_object *o, const char *map, const void *keys, size_t n,
			size_t size)
{
	int fd = n ? ebpf_object_map(o, map) : -1;
	const uint8_t yes = 1;

	for (size_t i = 0; i < n; i++)
		if (bpf_map_update_elem(fd, (const char *)keys + i * size, &yes, BPF_ANY) < 0)
			return -errno;
	return 0;
}

static uint64_t hash_group_name(const char *name)
{
	uint64_t hash = CGROUP_HASH_BEGIN;

	for (; *name; name++)
		hash = cgroup_hash_add(hash, (uint8_t)*name);
	return hash;
}

static int fill_scope(const struct ebpf_object *o, const struct ebpf_scope *scope)
{
	const struct subject_ids *s = scope->subject;
	int r = fill_set_map(o, "sonda_pids", scope->pids, scope->n_pids, sizeof(*scope->pids));

	if (r == 0)
		r = fill_set_map(o, "sonda_cgroups", scope->cgroups, scope->n_cgroups,
				 sizeof(*scope->cgroups));
	if (r == 0 && s)
		r = fill_set_map(o, "sonda_cgroups", s->groups, s->n_groups, sizeof(*s->groups));
	for (size_t i = 0; r == 0 && s && i < s->n_names; i++) {
		uint64_t hash = hash_group_name(s->names[i]);

		r = ebpf_object_has_map(o, "sonda_awaited")
			    ? fill_set_map(o, "sonda_awaited", &hash, 1, sizeof(hash))
			    : 0;
	}
	return r;
}

const struct bpf_map *ebpf_object_next_map(const struct ebpf_object *o, const struct bpf_map *map)
{
	return bpf_object__next_map(o->obj, map);
}

const struct btf *ebpf_object_btf(const struct ebpf_object *o)
{
	return bpf_object__btf(o->obj);
}

int ebpf_object_load(struct ebpf_object *o, const struct ebpf_scope *scope, uint32_t switches,
		     struct err_text *e)
{
	struct bpf_map *m = bpf_object__find_map_by_name(o->obj, ".rodata.sonda");
	struct sonda_settings s = {
		.own_pid = scope->own_pid,
		.scope = (scope->n_pids ? SONDA_SCOPE_PIDS : 0) |
			 (scope_has_groups(scope) ? SONDA_SCOPE_CGROUPS : 0) |
			 (scope->subject && scope->subject->n_programs ? SONDA_SCOPE_PROGRAMS : 0),
		.switches = switches,
		.outlier_ns = scope->outlier_ns,
		.outliers_per_second = scope->outliers_per_second,
	};
	bool has_settings;
	int r;

	memcpy(s.fields, o->fields, sizeof(s.fields));
	o->subject = scope->subject;
	if (scope->subject) {
		s.n_programs = scope->subject->n_programs;
		memcpy(s.programs, scope->subject->programs, sizeof(s.programs));
	}
	r = m ? bpf_map__set_initial_value(m, &s, sizeof(s)) : -ENOENT;
	if (r < 0 && !o->is_foreign)
		return err_set(e, r, "%s has no settings", o->name);
	if (r == 0)
		set_scope(o, scope);
	if (!scope->outlier_ns && !o->is_foreign) {
		ebpf_object_leave_out_map(o, "sonda_events");
		ebpf_object_leave_out_map(o, "outliers");
	}
	libbpf_log_begin();
	has_settings = r == 0;
	priority_boost_yield(); /* the kernel verifies for up to 0.3 s */
	r = bpf_object__load(o->obj);
	if (r < 0)
		return object_set_error(o, r, "loaded", e);
	r = has_settings ? fill_scope(o, scope) : 0;
	return r < 0 ? object_set_error(o, r, "initialized", e) : 0;
}

bool ebpf_object_has_group(const struct ebpf_object *o, uint64_t id)
{
	uint8_t yes;

	return bpf_map_lookup_elem(ebpf_object_map(o, "sonda_cgroups"), &id, &yes) == 0;
}

int ebpf_object_add_group(struct ebpf_object *o, uint64_t id)
{
	int r = fill_set_map(o, "sonda_cgroups", &id, 1, sizeof(id));
	uint32_t zero = 0, next = o->edition + 1;
	int fd = ebpf_object_map(o, "sonda_cgroups_edition");

	/* A user program that was compiled earlier has no editions. */
	if (r == 0 && fd >= 0 && bpf_map_update_elem(fd, &zero, &next, BPF_ANY) == 0)
		o->edition = next;
	return r;
}

static void add_awaited_group(void *ctx, uint64_t id)
{
	(void)ebpf_object_add_group(ctx, id);
}

int ebpf_object_attach(struct ebpf_object *o, struct err_text *e)
{
	libbpf_log_begin();
	for (unsigned i = 0; i < o->n; i++) {
		const char *section = bpf_program__section_name(o->programs[i]);

		if (!bpf_program__autoload(o->programs[i]) || strcmp(section, "raw_tp") == 0 ||
		    strcmp(section, "tp") == 0 || strcmp(section, "perf_event") == 0)
			continue;
		o->links[i] = bpf_program__attach(o->programs[i]);
		if (!o->links[i])
			return object_set_error(o, -errno, "attached", e);
	}
	if (o->subject)
		subject_ids_each_group(o->subject, add_awaited_group, o);
	o->subject = NULL;
	return 0;
}

int ebpf_object_attach_to_tracepoint(struct ebpf_object *o, const char *program, const char *event,
				     struct err_text *e)
{
	const char *slash = strchr(event, '/');
	char group[128];

	snprintf(group, sizeof(group), "%.*s", slash ? (int)(slash - event) : 0, event);
	libbpf_log_begin();
	for (unsigned i = 0; i < o->n && slash; i++) {
		if (strcmp(bpf_program__name(o->programs[i]), program) != 0)
			continue;
		o->links[i] = bpf_program__attach_tracepoint(o->programs[i], group, slash + 1);
		return o->links[i] ? 0 : object_set_error(o, -errno, "attached", e);
	}
	return err_set(e, -ENOENT, "%s.bpf.o has no program %s for %s", o->name, program, event);
}

int ebpf_object_attach_to_event(const struct ebpf_object *o, const char *program, int event)
{
	const struct bpf_program *p = bpf_object__find_program_by_name(o->obj, program);

	if (!p)
		return -ENOENT;
	return ioctl(event, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(p)) < 0 ? -errno : 0;
}

int ebpf_object_open_iterator(const struct ebpf_object *o, const char *program)
{
	for (unsigned i = 0; i < o->n; i++) {
		int fd;

		if (!o->links[i] || strcmp(bpf_program__name(o->programs[i]), program) != 0)
			continue;
		fd = bpf_iter_create(bpf_link__fd(o->links[i]));
		return fd < 0 ? -errno : fd;
	}
	return -ENOENT;
}

int ebpf_object_run(const struct ebpf_object *o, const char *program, uint32_t cpu,
		    uint64_t argument)
{
	const struct bpf_program *p = bpf_object__find_program_by_name(o->obj, program);
	LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = &argument,
		    .ctx_size_in = sizeof(argument), .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = cpu);

	return p ? bpf_prog_test_run_opts(bpf_program__fd(p), &options) : -ENOENT;
}

void ebpf_object_free(struct ebpf_object *o)
{
	if (!o)
		return;
	for (unsigned i = 0; i < o->n; i++)
		bpf_link__destroy(o->links[i]);
	bpf_object__close(o->obj);
	free(o);
}

int ebpf_object_map(const struct ebpf_object *o, const char *map)
{
	const struct bpf_map *m = bpf_object__find_map_by_name(o->obj, map);
	/* Since libbpf 1.4 a map that was left out has an empty descriptor as well. */
	int fd = m && bpf_map__autocreate(m) ? bpf_map__fd(m) : -1;

	return fd < 0 ? -ENOENT : fd;
}

uint64_t ebpf_object_next_period(struct ebpf_object *o)
{
	uint64_t over = o->generation, next = over + 1;
	int fd = ebpf_object_map(o, ".data.sonda");
	uint32_t zero = 0;

	if (fd < 0 ? !o->is_foreign : bpf_map_update_elem(fd, &zero, &next, BPF_ANY) < 0)
		return 0;
	o->generation = next;
	return over;
}

void ebpf_object_read_cost(const struct ebpf_object *o, uint64_t *ret_ns, uint64_t *ret_count,
			   uint64_t *ret_missed)
{
	*ret_ns = *ret_count = *ret_missed = 0;
	for (unsigned i = 0; i < o->n; i++) {
		struct bpf_prog_info info = {0};
		uint32_t len = sizeof(info);

		/* A program that was left out has no descriptor. */
		if (bpf_obj_get_info_by_fd(bpf_program__fd(o->programs[i]), &info, &len) < 0)
			continue;
		*ret_ns += info.run_time_ns;
		*ret_count += info.run_cnt;
		*ret_missed += info.recursion_misses;
	}
}

int ebpf_enable_stats(void)
{
	int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

	return fd < 0 ? -errno : fd;
}

uint32_t ebpf_count_cpus(void)
{
	int n;

	libbpf_log_begin();
	n = libbpf_num_possible_cpus();
	return n < 1 ? 1 : (uint32_t)n;
}
