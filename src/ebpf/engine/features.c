/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/engine/features.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/number_read.h"

static int check_tracepoint(const struct ebpf_features *f, const struct ebpf_need *n,
			    const char *name, struct err_text *e)
{
	int args = f->count_args(f->ctx, name);

	if (args == -EOPNOTSUPP)
		return err_set(e, args, "the kernel has no BTF (/sys/kernel/btf/vmlinux)");
	if (args < 0)
		return err_set(e, args, "the kernel has no tracepoint %s", name);
	if (args < n->min_args || args > n->max_args)
		return err_set(
			e, -EPROTO,
			"the kernel's tracepoint %s has an unsupported number of arguments: %d",
			name, args);
	return 0;
}

static int check_event_field(const struct ebpf_features *f, const struct ebpf_need *n,
			     struct err_text *e)
{
	if (ebpf_has_field(f, n->name, n->member))
		return 0;
	return err_set(e, -ENOENT, "the kernel has no event %s with a field '%s'", n->name,
		       n->member);
}

static int check_raw_tracepoint(const struct ebpf_features *f, const struct ebpf_need *n,
				struct err_text *e)
{
	const char *name = strchr(n->name, '/');
	int r = check_event_field(f, n, e);

	if (r < 0 || !name)
		return r;
	r = check_tracepoint(f, n, name + 1, e);
	return r == -EOPNOTSUPP ? 0 : r;
}

/* Returns 0 if the kernel has what n requires, or -errno and sets e. */
static int check_need(const struct ebpf_features *f, const struct ebpf_need *n, struct err_text *e)
{
	switch (n->kind) {
	case EBPF_END:
	case EBPF_MAY_FIELD:
		return 0;
	case EBPF_TP_BTF:
		return check_tracepoint(f, n, n->name, e);
	case EBPF_RAW_TP:
		return check_raw_tracepoint(f, n, e);
	case EBPF_EVENT:
	case EBPF_FIELD:
		return check_event_field(f, n, e);
	case EBPF_MEMBER:
		if (!f->has_member(f->ctx, n->name, n->member))
			return err_set(e, -ENOENT, "the kernel has no %s.%s", n->name, n->member);
		return 0;
	}
	return 0;
}

static int check_all_needs(const struct ebpf_features *f, const struct ebpf_need *needs,
			   struct err_text *e)
{
	int r = 0;

	for (; needs->kind != EBPF_END && r == 0; needs++)
		r = check_need(f, needs, e);
	return r;
}

int ebpf_choose_variant(const struct ebpf_features *f, const struct ebpf_variant *variants, int n,
			int first, struct err_text *why)
{
	size_t len = 0;

	for (int i = first; i < n; i++) {
		struct err_text e;
		int r = check_all_needs(f, variants[i].needs, &e);

		if (r == 0)
			return i;
		len += (size_t)snprintf(why->text + len, sizeof(why->text) - len, "%s%s",
					len ? "; " : "", e.text);
		if (len >= sizeof(why->text))
			len = sizeof(why->text) - 1;
	}
	return -ENOENT;
}

bool ebpf_has_field(const struct ebpf_features *f, const char *event, const char *field)
{
	struct sonda_field found;

	return f->find_field(f->ctx, event, field, &found) == 0;
}

void ebpf_find_fields(const struct ebpf_features *f, const struct ebpf_variant *variant,
		      struct sonda_field *fields)
{
	const struct ebpf_need *n;

	for (n = variant->needs; n->kind != EBPF_END; n++)
		if (n->kind == EBPF_FIELD || n->kind == EBPF_MAY_FIELD)
			(void)f->find_field(f->ctx, n->name, n->member, &fields[n->slot]);
}

#define LINE_MAX_BYTES 1024

struct feature_sources {
	struct btf *btf; /* owned; NULL: no BTF */
	char tracefs[PATH_MAX / 2]; /* empty: none */
};

/* Counts the arguments of a tracepoint. btf_trace_NAME is a pointer to the probe function, whose
 * first argument is a context. */
static int count_args(void *ctx, const char *tracepoint)
{
	const struct feature_sources *f = ctx;
	const struct btf_type *t;
	char name[128];
	int id;

	if (!f->btf)
		return -EOPNOTSUPP;
	if ((size_t)snprintf(name, sizeof(name), "btf_trace_%s", tracepoint) >= sizeof(name))
		return -ENAMETOOLONG;
	id = btf__find_by_name_kind(f->btf, name, BTF_KIND_TYPEDEF);
	t = id < 0 ? NULL : btf__type_by_id(f->btf, (uint32_t)id);
	t = t ? btf__type_by_id(f->btf, t->type) : NULL;
	t = t && btf_is_ptr(t) ? btf__type_by_id(f->btf, t->type) : NULL;
	return t && btf_is_func_proto(t) && btf_vlen(t) > 0 ? btf_vlen(t) - 1 : -ENOENT;
}

static bool has_member(void *ctx, const char *type, const char *member)
{
	const struct feature_sources *f = ctx;
	int id = f->btf ? btf__find_by_name_kind(f->btf, type, BTF_KIND_STRUCT) : -ENOENT;
	const struct btf_type *t = id < 0 ? NULL : btf__type_by_id(f->btf, (uint32_t)id);

	for (unsigned i = 0; t && i < btf_vlen(t); i++) {
		const char *name = btf__name_by_offset(f->btf, btf_members(t)[i].name_off);

		if (name && !strcmp(name, member))
			return true;
	}
	return false;
}

static void each_enumerator(void *ctx, const char *type,
			    void (*fn)(void *arg, const char *name, int64_t value), void *arg)
{
	const struct feature_sources *f = ctx;
	int id = f->btf ? btf__find_by_name_kind(f->btf, type, BTF_KIND_ENUM) : -ENOENT;
	const struct btf_type *t = id < 0 ? NULL : btf__type_by_id(f->btf, (uint32_t)id);

	for (unsigned i = 0; t && i < btf_vlen(t); i++) {
		const char *name = btf__name_by_offset(f->btf, btf_enum(t)[i].name_off);

		if (name)
			fn(arg, name, btf_enum(t)[i].val);
	}
}

static bool has_map_type(void *ctx, int type)
{
	return libbpf_probe_bpf_map_type((enum bpf_map_type)type, NULL) == 1;
}

bool ebpf_format_line_number(const char *line, const char *word, uint16_t *ret)
{
	const char *p = strstr(line, word);
	uint64_t n;

	if (!p)
		return false;
	p += strlen(word);
	if (str_read_u64(&p, 10, &n) || *p != ';' || n > UINT16_MAX)
		return false;
	*ret = (uint16_t)n;
	return true;
}

/* Parses a line of a format file: "field:pid_t prev_pid; offset:24; size:4; signed:1;" with tabs
 * before its parts, or with an array: "comm[16];". */
static bool parse_field_line(const char *line, const char *field, struct sonda_field *ret)
{
	const char *name, *end = strchr(line, ';');
	size_t len = strlen(field);
	struct sonda_field found;

	if (!strstr(line, "field:") || !end)
		return false;
	for (name = strstr(line, field); name && name < end; name = strstr(name + 1, field))
		if (name[-1] == ' ' && (name[len] == ';' || name[len] == '['))
			break;
	if (!name || name >= end || !ebpf_format_line_number(end, "\toffset:", &found.offset) ||
	    !ebpf_format_line_number(end, "\tsize:", &found.size))
		return false;
	*ret = found;
	return true;
}

static int open_format(const struct feature_sources *f, const char *event, FILE **ret)
{
	char path[PATH_MAX];

	if (!f->tracefs[0])
		return -ENOENT;
	if ((size_t)snprintf(path, sizeof(path), "%s/events/%s/format", f->tracefs, event) >=
	    sizeof(path))
		return -ENAMETOOLONG;
	*ret = fopen(path, "re");
	return *ret ? 0 : -errno;
}

static int features_find_field(void *ctx, const char *event, const char *field,
			       struct sonda_field *ret)
{
	char line[LINE_MAX_BYTES];
	bool found = false;
	FILE *file;
	int r = open_format(ctx, event, &file);

	if (r < 0)
		return r;
	while (!found && fgets(line, sizeof(line), file))
		found = parse_field_line(line, field, ret);
	fclose(file);
	return found ? 0 : -ENOENT;
}

#define FORMAT_BYTES_MAX (256u << 10)

static int features_read_format(void *ctx, const char *event, struct strbuf *b)
{
	const struct feature_sources *f = ctx;
	char path[PATH_MAX];

	if (!f->tracefs[0])
		return -ENOENT;
	if ((size_t)snprintf(path, sizeof(path), "%s/events/%s/format", f->tracefs, event) >=
	    sizeof(path))
		return -ENAMETOOLONG;
	return fs_read_file(path, FORMAT_BYTES_MAX, b);
}

struct event_search {
	const char *events; /* the directory */
	const char *name;
	char *ret;
	size_t size;
};

/* Returns 1 if the group has the event. */
static int find_event_in_group(void *ctx, const char *group, unsigned char d_type)
{
	const struct event_search *s = ctx;
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s/%s/format", s->events, group, s->name) >=
	    sizeof(path))
		return 0;
	return fs_exists(path) &&
	       (size_t)snprintf(s->ret, s->size, "%s/%s", group, s->name) < s->size;
}

static int features_find_event(void *ctx, const char *event, char *ret, size_t size)
{
	const struct feature_sources *f = ctx;
	const char *slash = strchr(event, '/');
	char events[PATH_MAX / 2 + 8], group[128];
	struct event_search search = {
		.events = events, .name = slash ? slash + 1 : event, .ret = ret, .size = size};
	int r;

	if (!f->tracefs[0])
		return -ENOENT;
	snprintf(events, sizeof(events), "%s/events", f->tracefs);
	if (slash) {
		snprintf(group, sizeof(group), "%.*s", (int)(slash - event), event);
		r = find_event_in_group(&search, group, 0);
	} else {
		r = fs_each(events, find_event_in_group, &search);
	}
	return r == 1 ? 0 : -ENOENT;
}

/* Calls fn for each value and name of a list of __print_symbolic(), such as
 * { 3, "NO_SOCKET" }, { 4, "SOCKET_CLOSE" }). Writes NULs into the list. */
static void each_symbol_pair(char *list, void (*fn)(void *arg, const char *name, int64_t value),
			     void *arg)
{
	for (char *p = list, *name, *end; p && *p != ')'; p = strpbrk(end + 1, "{)")) {
		int64_t value = str_leading_i64(p + 1, 0);

		name = strchr(p + 1, '"');
		end = name ? strchr(name + 1, '"') : NULL;
		if (!end)
			return;
		*end = '\0';
		fn(arg, name + 1, value);
	}
}

static void each_symbol(void *ctx, const char *event, const char *field,
			void (*fn)(void *arg, const char *name, int64_t value), void *arg)
{
	_cleanup_(freep) char *line = NULL;
	char begin[128];
	size_t cap = 0;
	FILE *file;

	snprintf(begin, sizeof(begin), "__print_symbolic(REC->%s,", field);
	if (open_format(ctx, event, &file) < 0)
		return;
	while (getline(&line, &cap, file) > 0) {
		char *at = strncmp(line, "print fmt:", 10) ? NULL : strstr(line, begin);

		if (at)
			each_symbol_pair(strchr(at, '{'), fn, arg);
	}
	fclose(file);
}

int ebpf_features_new(const char *tracefs_root, struct ebpf_features *ret)
{
	struct feature_sources *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	libbpf_set_print(NULL);
	f->btf = btf__load_vmlinux_btf();
	if (tracefs_root)
		snprintf(f->tracefs, sizeof(f->tracefs), "%s", tracefs_root);
	*ret = (struct ebpf_features){
		.count_args = count_args,
		.find_field = features_find_field,
		.find_event = features_find_event,
		.read_format = features_read_format,
		.has_member = has_member,
		.has_map_type = has_map_type,
		.each_enumerator = each_enumerator,
		.each_symbol = each_symbol,
		.ctx = f,
	};
	return 0;
}

void ebpf_features_free(struct ebpf_features *features)
{
	struct feature_sources *f = features->ctx;

	if (f)
		btf__free(f->btf);
	free(f);
	features->ctx = NULL;
}
