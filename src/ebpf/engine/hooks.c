/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/engine/hooks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int lacks_tracepoint(const struct ebpf_facts *f, const struct ebpf_need *n, const char *name,
			    struct err_text *e)
{
	int args = f->count_args(f->ctx, name);

	if (args == -EOPNOTSUPP)
		return err_set(e, args, "the kernel has no BTF (/sys/kernel/btf/vmlinux)");
	if (args < 0)
		return err_set(e, args, "the kernel has no tracepoint %s", name);
	if (args < n->min_args || args > n->max_args)
		return err_set(e, -EPROTO, "the tracepoint %s has %d arguments, which is not known",
			       name, args);
	return 0;
}

static int lacks_event(const struct ebpf_facts *f, const struct ebpf_need *n, struct err_text *e)
{
	if (ebpf_has_field(f, n->name, n->member))
		return 0;
	return err_set(e, -ENOENT, "tracefs has no event %s with a field %s", n->name, n->member);
}

static int lacks_raw(const struct ebpf_facts *f, const struct ebpf_need *n, struct err_text *e)
{
	const char *name = strchr(n->name, '/');
	int r = lacks_event(f, n, e);

	if (r < 0 || !name)
		return r;
	r = lacks_tracepoint(f, n, name + 1, e);
	return r == -EOPNOTSUPP ? 0 : r;
}

/* 0, or -errno and why. */
static int lacks(const struct ebpf_facts *f, const struct ebpf_need *n, struct err_text *e)
{
	switch (n->kind) {
	case EBPF_END:
	case EBPF_MAY_FIELD:
		return 0;
	case EBPF_TP_BTF:
		return lacks_tracepoint(f, n, n->name, e);
	case EBPF_RAW_TP:
		return lacks_raw(f, n, e);
	case EBPF_EVENT:
	case EBPF_FIELD:
		return lacks_event(f, n, e);
	case EBPF_MEMBER:
		if (!f->has_member(f->ctx, n->name, n->member))
			return err_set(e, -ENOENT, "the kernel has no %s.%s", n->name, n->member);
		return 0;
	}
	return 0;
}

static int lacks_any(const struct ebpf_facts *f, const struct ebpf_need *needs, struct err_text *e)
{
	int r = 0;

	for (; needs->kind != EBPF_END && r == 0; needs++)
		r = lacks(f, needs, e);
	return r;
}

int ebpf_choose_rung(const struct ebpf_facts *f, const struct ebpf_rung *rungs, int n, int first,
		     struct err_text *why)
{
	size_t len = 0;

	for (int i = first; i < n; i++) {
		struct err_text e;
		int r = lacks_any(f, rungs[i].needs, &e);

		if (r == 0)
			return i;
		len += (size_t)snprintf(why->text + len, sizeof(why->text) - len, "%s%s",
					len ? "; " : "", e.text);
		if (len >= sizeof(why->text))
			len = sizeof(why->text) - 1;
	}
	return -ENOENT;
}

bool ebpf_has_field(const struct ebpf_facts *f, const char *event, const char *field)
{
	struct sonda_field found;

	return f->find_field(f->ctx, event, field, &found) == 0;
}

void ebpf_find_fields(const struct ebpf_facts *f, const struct ebpf_rung *rung,
		      struct sonda_field *fields)
{
	const struct ebpf_need *n;

	for (n = rung->needs; n->kind != EBPF_END; n++)
		if (n->kind == EBPF_FIELD || n->kind == EBPF_MAY_FIELD)
			(void)f->find_field(f->ctx, n->name, n->member, &fields[n->slot]);
}
