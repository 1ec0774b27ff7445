/* SPDX-License-Identifier: Apache-2.0 */
#include "subjects/subject.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/core/mem.h"
#include "base/event_loop/coroutine.h"
#include "base/system/fs.h"
#include "base/text/number_read.h"
#include "base/text/str.h"
#include "subjects/cgroup_names.h"

#define NAMES_WAIT_MS 3000 /* for names of containers; those that come later are unknown */
#define CANDIDATES_MAX 12 /* in a message */
#define ID_PREFIX_MIN 2 /* digits of a container's id */

bool subject_has_groups(const Pb__SubjectConfig *c)
{
	return c && (c->n_units || c->n_containers || c->n_pods || c->n_cgroups);
}

bool subject_has_programs(const Pb__SubjectConfig *c)
{
	return c && c->n_programs;
}

/* ---- which groups a name means ---- */

enum match { MATCH_NONE, MATCH_WEAK, MATCH_STRONG };

static const char *last_path_component(const char *path)
{
	return strrchr(path, '/') + 1;
}

/* Returns true for a group that is a whole unit, container or machine, not one below it. */
static bool is_whole_group(const struct cgroup_row *r)
{
	struct cgroup_place p;
	const char *last = last_path_component(r->path);

	cgroup_path_parse(r->path, &p);
	return p.scope.p ? p.scope.p == last : p.unit.p == last;
}

/* Returns how well a group matches the name of a unit. A unit of this system takes precedence over
 * one of the same name in a container. */
static enum match match_unit(const struct cgroup_row *r, const char *name)
{
	const char *last = last_path_component(r->path);
	size_t len = strlen(name);
	bool is_unit =
		str_ends(last, ".service") || str_ends(last, ".scope") || str_ends(last, ".slice");
	bool is_same = (is_unit && strcmp(last, name) == 0) ||
		       (!strchr(name, '.') && strncmp(last, name, len) == 0 &&
			strcmp(last + len, ".service") == 0);
	struct cgroup_place p;

	if (!is_same || !*last)
		return MATCH_NONE;
	cgroup_path_parse(r->path, &p);
	return p.container.p && !p.is_guess && p.scope.p != last ? MATCH_WEAK : MATCH_STRONG;
}

/* Returns how well a group matches the name of a container. A name takes precedence over the begin
 * of an id. */
static enum match match_container(const struct cgroup_row *r, const char *name)
{
	size_t len = strlen(name);

	if ((r->kind != CGROUP_CONTAINER && r->kind != CGROUP_MACHINE) || !is_whole_group(r))
		return MATCH_NONE;
	if (strcmp(r->name, name) == 0 || strcmp(r->container, name) == 0)
		return MATCH_STRONG;
	return strlen(r->container) == 64 && len >= ID_PREFIX_MIN &&
			       strncmp(r->container, name, len) == 0
		       ? MATCH_WEAK
		       : MATCH_NONE;
}

static enum match match_pod(const struct cgroup_row *r, const char *name)
{
	const char *slash = strchr(name, '/');

	return r->kind == CGROUP_POD && slash && strcmp(r->pod, slash + 1) == 0 &&
			       strlen(r->namespace) == (size_t)(slash - name) &&
			       strncmp(r->namespace, name, (size_t)(slash - name)) == 0
		       ? MATCH_STRONG
		       : MATCH_NONE;
}

/* Returns whether a path is that of the group; the first and a last slash are optional. */
static enum match match_path(const struct cgroup_row *r, const char *name)
{
	size_t len;

	name += strspn(name, "/");
	len = strlen(name);
	while (len && name[len - 1] == '/')
		len--;
	return strlen(r->path + 1) == len && strncmp(r->path + 1, name, len) == 0 ? MATCH_STRONG
										  : MATCH_NONE;
}

/* Returns how a message shows a candidate; NULL: it is none. */
static const char *unit_display_name(const struct cgroup_row *r)
{
	return r->kind == CGROUP_UNIT && is_whole_group(r) ? r->unit : NULL;
}

static const char *container_display_name(const struct cgroup_row *r)
{
	if ((r->kind != CGROUP_CONTAINER && r->kind != CGROUP_MACHINE) || !is_whole_group(r))
		return NULL;
	return *r->name ? r->name : r->container;
}

static const char *pod_display_name(const struct cgroup_row *r)
{
	static char name[2 * 257];

	if (r->kind != CGROUP_POD || !*r->pod)
		return NULL;
	snprintf(name, sizeof(name), "%s/%s", r->namespace, r->pod);
	return name;
}

static const char *path_display_name(const struct cgroup_row *r)
{
	return r->path;
}

/* Adds the name, of which the subject takes ownership even on failure. Returns 0, or -ENOMEM, also
 * if name is NULL. */
static int subject_add_name(struct subject *s, char *name)
{
	char **more = name ? realloc(s->names, (s->n_names + 1) * sizeof(*more)) : NULL;

	if (!more) {
		free(name);
		return -ENOMEM;
	}
	s->names = more;
	s->names[s->n_names++] = name;
	return 0;
}

/* Adds what will identify the group of a unit that does not exist yet: its path, or the last part
 * of it. */
static int add_later_unit(struct subject *s, const char *name)
{
	char *part;

	return subject_add_name(
		s, asprintf(&part, "%s%s", name, strchr(name, '.') ? "" : ".service") < 0 ? NULL
											  : part);
}

static int add_later_path(struct subject *s, const char *name)
{
	size_t len;
	char *path;

	name += strspn(name, "/");
	len = strlen(name);
	while (len && name[len - 1] == '/')
		len--;
	return subject_add_name(s, asprintf(&path, "/%.*s", (int)len, name) < 0 ? NULL : path);
}

#define PLAIN_IN_UNITS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:"

/* Adds "machine-NAME.scope", in which systemd-machined escapes characters of the name. */
static int add_machine_scope(struct subject *s, const char *name)
{
	struct strbuf b = {0};

	strbuf_puts(&b, "machine-");
	for (; *name; name++)
		if (strchr(PLAIN_IN_UNITS, *name))
			strbuf_putc(&b, *name);
		else
			strbuf_printf(&b, "\\x%02x", (unsigned char)*name);
	strbuf_puts(&b, ".scope");
	return subject_add_name(s, strbuf_take(&b));
}

/* Adds what will identify the group of a container that does not exist yet. The groups of some
 * runtimes have the name of the container, or its whole id. Other names are only in files that come
 * after the group. */
static int add_later_container(struct subject *s, const char *name)
{
	static const char *const of_names[] = {"lxc.payload.%s", "systemd-nspawn@%s.service"};
	static const char *const of_ids[] = {"%s",
					     "docker-%s.scope",
					     "libpod-%s.scope",
					     "libpod-%s",
					     "cri-containerd-%s.scope",
					     "crio-%s.scope",
					     "nerdctl-%s.scope"};
	bool is_id = strlen(name) == 64 && strspn(name, "0123456789abcdef") == 64;
	const char *const *formats = is_id ? of_ids : of_names;
	size_t n = is_id ? ARRAY_SIZE(of_ids) : ARRAY_SIZE(of_names);
	int r = 0;

	for (size_t i = 0; i < n && !r; i++) {
		char *part;

		r = subject_add_name(s, asprintf(&part, formats[i], name) < 0 ? NULL : part);
	}
	return r || is_id ? r : add_machine_scope(s, name);
}

static const struct noun {
	const char *what, *field;
	enum match (*match)(const struct cgroup_row *r, const char *name);
	const char *(*show)(const struct cgroup_row *r);
	/* Returns 0 or -ENOMEM. NULL: only files identify it. */
	int (*add_later)(struct subject *s, const char *name);
} unit_noun = {"unit", "units", match_unit, unit_display_name, add_later_unit},
  container_noun = {"container", "containers", match_container, container_display_name,
		    add_later_container},
  pod_noun = {"pod", "pods", match_pod, pod_display_name, NULL},
  path_noun = {"control group", "cgroups", match_path, path_display_name, add_later_path};

/* ---- messages ---- */

/* Appends the most similar name; if none is similar, up to CANDIDATES_MAX names. */
static void append_similar_names(const struct cgroup_names *names, const struct noun *noun,
				 const char *name, struct strbuf *to)
{
	const struct cgroup_row *r = NULL;
	char best[STR_NEAREST_SIZE];
	struct str_nearest near;
	size_t n = 0, more = 0;
	const char *shown;

	str_nearest_init(&near, name);
	while ((r = cgroup_names_next(names, r))) {
		shown = noun->show(r);
		if (!shown)
			continue;
		str_nearest_try_copy(&near, shown, best);
		if (n == CANDIDATES_MAX) {
			more++;
			continue;
		}
		strbuf_puts(to, n++ ? ", " : "; there are ");
		strbuf_put_plain(to, shown);
	}
	if (more)
		strbuf_printf(to, " and %zu more", more);
	if (str_nearest_get(&near)) {
		strbuf_clear(to);
		strbuf_puts(to, "; did you mean ");
		strbuf_put_plain(to, str_nearest_get(&near));
		strbuf_puts(to, "?");
	}
}

static int refuse_unknown(const struct cgroup_names *names, const struct noun *noun,
			  const char *name, struct err_text *e)
{
	struct strbuf text = {0}, shown = {0};
	int r;

	append_similar_names(names, noun, name, &text);
	strbuf_put_plain(&shown, name);
	r = err_set(e, -ESRCH, "no %s is named '%.200s'%s", noun->what, shown.s ?: "",
		    text.s ?: "");
	strbuf_deinit(&shown);
	strbuf_deinit(&text);
	return r;
}

static int refuse_ambiguous(const struct cgroup_names *names, const struct noun *noun,
			    const char *name, enum match best, struct err_text *e)
{
	struct strbuf text = {0}, shown = {0};
	const struct cgroup_row *row = NULL;
	size_t n = 0;
	int r;

	while ((row = cgroup_names_next(names, row))) {
		if (noun->match(row, name) != best || n++ >= CANDIDATES_MAX)
			continue;
		strbuf_puts(&text, n > 1 ? ", " : "");
		strbuf_put_plain(&text, row->path);
	}
	strbuf_put_plain(&shown, name);
	r = err_set(e, -ENOTUNIQ, "%zu %ss are named '%.200s': %s", n, noun->what, shown.s ?: "",
		    text.s ?: "");
	strbuf_deinit(&shown);
	strbuf_deinit(&text);
	return r;
}

/* ---- groups ---- */

/* Adds a group unless it is there already. Returns 0, -E2BIG above the limit, or -ENOMEM. */
static int subject_add_group(struct subject *s, const struct cgroup_row *row,
			     const struct cgroup_mount *mount)
{
	struct subject_group g = {.id = row->id, .is_v2 = mount->is_v2}, *more;

	for (size_t i = 0; i < s->n; i++)
		if (s->groups[i].id == g.id && s->groups[i].is_v2 == g.is_v2)
			return 0;
	if (s->n == SUBJECT_GROUPS_MAX)
		return -E2BIG;
	more = realloc(s->groups, (s->n + 1) * sizeof(*more));
	if (more)
		s->groups = more;
	g.path = strdup(row->path);
	if (asprintf(&g.dir, "%s%s", mount->path, row->path) < 0)
		g.dir = NULL;
	if (!more || !g.path || !g.dir) {
		free(g.path);
		free(g.dir);
		return -ENOMEM;
	}
	s->groups[s->n++] = g;
	return 0;
}

/* A hierarchy whose groups were read. */
struct hierarchy {
	struct cgroup_mount mount;
	struct cgroup_names *names; /* owned */
};

/* Adds the groups that the name refers to in the first hierarchy that has it. Returns 0, also if it
 * may be awaited; or -errno and sets e. */
static int subject_find_name(struct subject *s, const struct hierarchy *h, size_t n,
			     const struct noun *noun, const char *name, bool may_wait,
			     struct err_text *e)
{
	for (size_t i = 0; i < n; i++) {
		const struct cgroup_row *row = NULL, *found = NULL;
		enum match best = MATCH_NONE, is;
		unsigned matches = 0;

		while ((row = cgroup_names_next(h[i].names, row))) {
			is = noun->match(row, name);
			if (is == MATCH_NONE || is < best)
				continue;
			matches = is > best ? 1 : matches + 1;
			best = is;
			found = row;
		}
		if (matches > 1)
			return refuse_ambiguous(h[i].names, noun, name, best, e);
		/* A group that is removed and made again has another id. */
		if (matches && h[i].mount.is_v2 && subject_add_name(s, strdup(found->path)) < 0)
			return -ENOMEM;
		if (matches)
			return subject_add_group(s, found, &h[i].mount);
	}
	if (!may_wait)
		return refuse_unknown(h[0].names, noun, name, e);
	s->n_awaited++;
	return noun->add_later ? noun->add_later(s, name) : 0;
}

static int subject_find_names(struct subject *s, const struct hierarchy *h, size_t n,
			      const struct noun *noun, char *const *names, size_t n_names,
			      bool may_wait, struct err_text *e)
{
	int r = 0;

	for (size_t i = 0; i < n_names && !r; i++)
		r = *names[i] ? subject_find_name(s, h, n, noun, names[i], may_wait, e)
			      : err_set(e, -EINVAL, "%s: empty name", noun->field);
	return r;
}

/* Reads the groups of all hierarchies. Returns their number. */
static size_t read_hierarchies(const char *sys_root, bool needs_names,
			       struct hierarchy ret[CGROUP_MOUNTS_MAX])
{
	size_t n = 0;

	for (unsigned i = 0; i < CGROUP_MOUNTS_MAX; i++) {
		struct hierarchy *h = &ret[n];

		if (!cgroup_mount_find(sys_root, i, &h->mount) ||
		    cgroup_names_new(&(struct cgroup_names_options){.mount = &h->mount},
				     &h->names) < 0)
			continue;
		while (cgroup_names_walk_step(h->names))
			if (coroutine_yield() < 0)
				break;
		if (needs_names)
			(void)cgroup_names_wait(h->names, NAMES_WAIT_MS);
		n++;
	}
	return n;
}

int subject_find_groups(const Pb__SubjectConfig *c, const char *sys_root, struct subject *ret,
			struct err_text *e)
{
	struct hierarchy all[CGROUP_MOUNTS_MAX];
	size_t n;
	int r;

	*ret = (struct subject){0};
	if (!subject_has_groups(c))
		return 0;
	if (subject_has_programs(c))
		return err_set(e, -EINVAL,
			       "'programs' cannot be combined with units, containers, pods or "
			       "control groups");
	n = read_hierarchies(sys_root, c->n_containers || c->n_pods, all);
	if (n == 0)
		return err_set(e, -ENOENT, "no cgroup file system is mounted at %s/fs/cgroup",
			       sys_root);
	r = subject_find_names(ret, all, n, &unit_noun, c->units, c->n_units, c->wait, e);
	if (!r)
		r = subject_find_names(ret, all, n, &container_noun, c->containers, c->n_containers,
				       c->wait, e);
	if (!r)
		r = subject_find_names(ret, all, n, &pod_noun, c->pods, c->n_pods, c->wait, e);
	if (!r)
		r = subject_find_names(ret, all, n, &path_noun, c->cgroups, c->n_cgroups, c->wait,
				       e);
	for (size_t i = 0; i < n; i++)
		cgroup_names_free(all[i].names);
	return r == -ENOMEM  ? err_set(e, r, "out of memory")
	       : r == -E2BIG ? err_set(e, r, "too many control groups; the limit is %d",
				       SUBJECT_GROUPS_MAX)
			     : r;
}

void subject_deinit(struct subject *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->groups[i].path);
		free(s->groups[i].dir);
	}
	free(s->groups);
	while (s->n_names)
		free(s->names[--s->n_names]);
	free(s->names);
	*s = (struct subject){0};
}

/* ---- threads ---- */

/* Adds the numbers in the file. */
static void add_thread_ids(int directory, const char *name, struct pid_set *to)
{
	_cleanup_(closep) int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
	struct strbuf text = {0};
	const char *at;
	uint64_t tid;

	if (fd < 0)
		return;
	(void)fs_read_fd(fd, 64u << 20, &text);
	at = text.s;
	while (at && !str_read_u64(&at, 10, &tid))
		(void)pid_set_add(to, (int32_t)tid);
	strbuf_deinit(&text);
}

int subject_add_threads(const struct subject *s, struct pid_set *to)
{
	struct cgroup_walk *w = malloc(sizeof(*w));

	if (!w)
		return -ENOMEM;
	for (size_t i = 0; i < s->n; i++) {
		if (cgroup_walk_begin(w, s->groups[i].dir) < 0)
			continue;
		while (cgroup_walk_next(w))
			add_thread_ids(cgroup_walk_fd(w),
				       s->groups[i].is_v2 ? "cgroup.threads" : "tasks", to);
		cgroup_walk_end(w);
	}
	free(w);
	return 0;
}

/* Returns the number after a key in /proc/PID/status; 0: unknown. */
static int32_t read_status_number(const char *proc_root, int32_t pid, const char *key)
{
	struct strbuf text = {0};
	int32_t number = 0;
	char path[256];
	char *at;

	snprintf(path, sizeof(path), "%s/%" PRId32 "/status", proc_root, pid);
	if (fs_read_file(path, 16384, &text) == 0 && text.s && (at = strstr(text.s, key)))
		number = (int32_t)str_leading_i64(at + strlen(key), 10);
	strbuf_deinit(&text);
	return number;
}

static void read_comm(const char *proc_root, int32_t pid, char ret[SUBJECT_PROGRAM_LEN + 1])
{
	char path[256], text[64];
	_cleanup_(closep) int fd = -1;
	ssize_t n;

	*ret = '\0';
	snprintf(path, sizeof(path), "%s/%" PRId32 "/comm", proc_root, pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, text, sizeof(text));
	/* The last newline is the kernel's; a name may have others. */
	if (n > 1 && n - 1 <= SUBJECT_PROGRAM_LEN) {
		memcpy(ret, text, (size_t)n - 1);
		ret[n - 1] = '\0';
	}
}

/* Calls fn for each process. */
static void for_each_process(const char *proc_root, void (*fn)(void *ctx, int32_t pid), void *ctx)
{
	DIR *dir = opendir(proc_root);
	struct dirent *e;
	uint32_t pid;

	while (dir && (e = readdir(dir)))
		if (str_to_u32(e->d_name, &pid) == 0 && pid < PID_LIMIT)
			fn(ctx, (int32_t)pid);
	if (dir)
		closedir(dir);
}

struct spawner_search {
	const char *proc_root;
	bool units, containers;
	struct pid_set *to;
};

static void add_if_spawner(void *ctx, int32_t pid)
{
	static const char *const runtimes[] = {
		"containerd", "containerd-shim", "dockerd",	   "crio", "conmon",
		"podman",     "lxc-start",	 "lxcfs",	   "lxd",  "incusd",
		"libvirtd",   "virtqemud",	 "systemd-nspawn",
	};
	const struct spawner_search *f = ctx;
	char comm[SUBJECT_PROGRAM_LEN + 1];

	read_comm(f->proc_root, pid, comm);
	if (f->units && strcmp(comm, "systemd") == 0)
		(void)pid_set_add(f->to, pid);
	for (size_t i = 0; f->containers && i < ARRAY_SIZE(runtimes); i++)
		if (strcmp(comm, runtimes[i]) == 0)
			(void)pid_set_add(f->to, pid);
}

void subject_add_spawners(const struct subject *s, const Pb__SubjectConfig *c,
			  const char *proc_root, struct pid_set *to)
{
	_cleanup_(pid_set_clear) struct pid_set members = {0};
	const struct spawner_search find = {.proc_root = proc_root,
					    .units = c->n_units || c->n_cgroups,
					    .containers = c->n_containers || c->n_pods,
					    .to = to};

	if (pid_set_reserve(&members) < 0 || subject_add_threads(s, &members) < 0)
		return;
	if (s->n_awaited || !pid_set_next(&members, 0)) {
		(void)pid_set_add(to, 1);
		for (size_t i = 0; i < c->n_spawner_pids; i++)
			(void)pid_set_add(to, (int32_t)c->spawner_pids[i]);
		for_each_process(proc_root, add_if_spawner, (void *)&find);
	}
	for (int32_t tid = 0; (tid = pid_set_next(&members, tid));) {
		int32_t parent = read_status_number(proc_root, tid, "\nPPid:");

		/* 2 is kthreadd: kernel threads have no program that starts them. */
		if (parent > 0 && parent != 2 && !pid_set_has(&members, parent))
			(void)pid_set_add(to, parent);
	}
}

/* ---- processes ---- */

/* Returns true if the path of a line "HIERARCHY:CONTROLLERS:PATH" begins with that of the group. */
static bool is_line_below_group(const char *line, const struct subject_group *g)
{
	const char *path = strchr(line, ':');
	size_t len = strlen(g->path);

	path = path ? strchr(path + 1, ':') : NULL;
	if (!path || (strncmp(line, "0::", 3) == 0) != g->is_v2)
		return false;
	path++;
	if (len == 1)
		return true;
	return strncmp(path, g->path, len) == 0 &&
	       (!path[len] || path[len] == '/' || path[len] == '\n');
}

/* Returns true if a line "0::PATH" is of the group with the name, or of one below it. */
static bool is_line_below_name(const char *line, const char *name)
{
	size_t len = strlen(name), path_len;

	if (strncmp(line, "0::/", 4) != 0)
		return false;
	line += 3;
	path_len = strcspn(line, "\n");
	for (size_t at = 0; at + len <= path_len; at++)
		if ((*name == '/' ? at == 0 : at > 0 && line[at - 1] == '/') &&
		    memcmp(line + at, name, len) == 0 &&
		    (at + len == path_len || line[at + len] == '/'))
			return true;
	return false;
}

#define FIRST_CGROUP_NAMESPACE 0xEFFFFFFBu /* inode; include/linux/proc_ns.h */

/* Returns true if this process is in a namespace of control groups, as in a container: then paths
 * in /proc are relative to a group whose own path it cannot read. */
static bool is_in_namespace(const char *proc_root)
{
	char path[256];
	struct stat st;

	snprintf(path, sizeof(path), "%s/self/ns/cgroup", proc_root);
	return stat(path, &st) == 0 && st.st_ino != FIRST_CGROUP_NAMESPACE;
}

/* Returns true if the process is in the files of the groups: of those that existed when the subject
 * was found, and below. */
static bool is_listed_in_groups(const struct subject *s, int32_t pid)
{
	_cleanup_(pid_set_clear) struct pid_set threads = {0};

	return pid_set_reserve(&threads) == 0 && subject_add_threads(s, &threads) == 0 &&
	       pid_set_has(&threads, pid);
}

/* Returns true if a process is in one of the groups. The name of a group may have a newline: then
 * the rest of its line is a line of another form. */
static bool is_in_groups(const struct subject *s, const char *proc_root, int32_t pid)
{
	struct strbuf text = {0};
	bool found = false;
	char path[256];

	snprintf(path, sizeof(path), "%s/%" PRId32 "/cgroup", proc_root, pid);
	if (fs_read_file(path, 65536, &text) == 0)
		for (char *line = text.s; line && *line && !found;) {
			char *end = strchrnul(line, '\n');

			for (size_t i = 0; i < s->n; i++)
				found |= is_line_below_group(line, &s->groups[i]);
			for (size_t i = 0; i < s->n_names; i++)
				found |= is_line_below_name(line, s->names[i]);
			line = *end ? end + 1 : end;
		}
	strbuf_deinit(&text);
	return found;
}

bool subject_has_process(const struct subject *s, const Pb__SubjectConfig *c, const char *proc_root,
			 int32_t pid)
{
	char comm[SUBJECT_PROGRAM_LEN + 1];

	if ((s->n || s->n_names) && (is_in_namespace(proc_root) ? is_listed_in_groups(s, pid)
								: is_in_groups(s, proc_root, pid)))
		return true;
	if (!subject_has_programs(c))
		return false;
	read_comm(proc_root, pid, comm);
	for (size_t i = 0; i < c->n_programs; i++)
		if (*comm && strncmp(comm, c->programs[i], SUBJECT_PROGRAM_LEN) == 0)
			return true;
	return false;
}

struct program_search {
	const char *proc_root, *program;
	struct pid_set *to;
	size_t n;
	struct str_nearest near;
	char best[STR_NEAREST_SIZE];
};

static void add_if_program(void *ctx, int32_t pid)
{
	struct program_search *f = ctx;
	char comm[SUBJECT_PROGRAM_LEN + 1];

	read_comm(f->proc_root, pid, comm);
	if (!*comm)
		return;
	if (strncmp(comm, f->program, SUBJECT_PROGRAM_LEN) == 0) {
		(void)pid_set_add(f->to, pid);
		f->n++;
	} else {
		str_nearest_try_copy(&f->near, comm, f->best);
	}
}

size_t subject_find_program(const char *proc_root, const char *program, struct pid_set *ret,
			    char nearest[static SUBJECT_PROGRAM_LEN + 1])
{
	struct program_search find = {.proc_root = proc_root, .program = program, .to = ret};

	str_nearest_init(&find.near, program);
	for_each_process(proc_root, add_if_program, &find);
	snprintf(nearest, SUBJECT_PROGRAM_LEN + 1, "%s",
		 find.n || !str_nearest_get(&find.near) ? "" : str_nearest_get(&find.near));
	return find.n;
}

/* ---- what BPF programs compare ---- */

/* Moves the names and copies the ids of the groups. Returns 0, or -errno and sets e if a group is
 * one of version 1, or there is no memory. */
static int copy_group_ids(struct subject *s, struct subject_ids *to, struct err_text *e)
{
	for (size_t i = 0; i < s->n; i++)
		if (!s->groups[i].is_v2)
			return err_set(e, -EOPNOTSUPP,
				       "'%.256s' is in a cgroup v1 hierarchy, which BPF programs "
				       "cannot match",
				       s->groups[i].path);
	to->groups = malloc(s->n * sizeof(*to->groups) + 1);
	if (!to->groups)
		return err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < s->n; i++)
		to->groups[to->n_groups++] = s->groups[i].id;
	to->names = TAKE_PTR(s->names);
	to->n_names = s->n_names;
	s->n_names = 0;
	return 0;
}

/* Copies the names of programs. Names longer than that of a thread are cut, as the kernel does.
 * Returns 0, or -errno and sets e. */
static int copy_programs(const Pb__SubjectConfig *c, struct subject_ids *to, struct err_text *e)
{
	if (c->n_programs > SUBJECT_IDS_PROGRAMS_MAX)
		return err_set(e, -E2BIG, "programs: too many names; the limit is %d",
			       SUBJECT_IDS_PROGRAMS_MAX);
	for (size_t i = 0; i < c->n_programs; i++) {
		size_t len = strnlen(c->programs[i], SUBJECT_PROGRAM_LEN);

		if (!len)
			return err_set(e, -EINVAL, "programs: empty name");
		memcpy(to->programs[to->n_programs++], c->programs[i], len);
	}
	return 0;
}

/* Copies the names, even if their containers exist: another one may have the name later. */
static int copy_names(char *const *names, size_t n, char ***ret, size_t *ret_n)
{
	*ret = calloc(n + 1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	for (; *ret_n < n; ++*ret_n) {
		(*ret)[*ret_n] = strdup(names[*ret_n]);
		if (!(*ret)[*ret_n])
			return -ENOMEM;
	}
	return 0;
}

int subject_find_ids(const Pb__SubjectConfig *c, const char *sys_root, struct subject_ids *ret,
		     struct err_text *e)
{
	struct subject found;
	int r;

	*ret = (struct subject_ids){.is_set = subject_has_groups(c) || subject_has_programs(c),
				    .sys_root = sys_root};
	r = subject_find_groups(c, sys_root, &found, e);
	if (!r && subject_has_groups(c))
		r = copy_group_ids(&found, ret, e);
	if (!r && subject_has_groups(c) && c->wait &&
	    (copy_names(c->containers, c->n_containers, &ret->containers, &ret->n_containers) < 0 ||
	     copy_names(c->pods, c->n_pods, &ret->pods, &ret->n_pods) < 0))
		r = err_set(e, -ENOMEM, "out of memory");
	if (!r && subject_has_programs(c))
		r = copy_programs(c, ret, e);
	subject_deinit(&found);
	return r;
}

static void free_names(char **names, size_t n)
{
	while (n)
		free(names[--n]);
	free(names);
}

void subject_ids_deinit(struct subject_ids *ids)
{
	free(ids->groups);
	free_names(ids->names, ids->n_names);
	free_names(ids->containers, ids->n_containers);
	free_names(ids->pods, ids->n_pods);
	*ids = (struct subject_ids){0};
}

static bool is_path_named(const struct subject_ids *ids, const char *path)
{
	for (size_t i = 0; i < ids->n_names; i++)
		if (!strcmp(ids->names[i],
			    ids->names[i][0] == '/' ? path : last_path_component(path)))
			return true;
	return false;
}

void subject_ids_each_group(const struct subject_ids *ids, void (*fn)(void *ctx, uint64_t id),
			    void *ctx)
{
	struct cgroup_mount mount;
	struct cgroup_walk *w;

	if (!ids->n_names || !cgroup_mount_find(ids->sys_root, 0, &mount))
		return;
	w = malloc(sizeof(*w));
	if (w && cgroup_walk_begin(w, mount.path) == 0) {
		while (cgroup_walk_next(w))
			if (is_path_named(ids, w->path))
				fn(ctx, w->id);
		cgroup_walk_end(w);
	}
	free(w);
}

/* Returns true if the group is a pod of this name, or a container of it: the pod's own group may
 * have no name yet when its first container has. */
static bool is_group_of_pod(const struct cgroup_row *r, const char *name)
{
	struct cgroup_row pod = *r;

	pod.kind = r->kind == CGROUP_CONTAINER ? CGROUP_POD : r->kind;
	return match_pod(&pod, name) != MATCH_NONE;
}

bool subject_ids_is_awaited(const struct subject_ids *ids, const struct cgroup_row *row)
{
	for (size_t i = 0; i < ids->n_containers; i++)
		if (match_container(row, ids->containers[i]) != MATCH_NONE)
			return true;
	for (size_t i = 0; i < ids->n_pods; i++)
		if (is_group_of_pod(row, ids->pods[i]))
			return true;
	return false;
}
