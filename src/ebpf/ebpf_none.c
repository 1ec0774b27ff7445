/* SPDX-License-Identifier: Apache-2.0 */
/* Used in builds without clang or libbpf, in place of the files that need them (Makefile). */
#include <errno.h>
#include <stdlib.h>

#include "base/core/mem.h"
#include "client/counters/polled_source.h"
#include "ebpf/ebpf_source.h"
#include "ebpf/engine/errors.h"

struct none {
	struct polled_source poll;
	struct ebpf_errors errors;
};

static void none_begin(struct polled_source *p)
{
}

static bool none_step(struct polled_source *p)
{
	struct none *s = container_of(p, struct none, poll);

	ebpf_errors_write(&s->errors, false, p->writer);
	return false;
}

static void none_deinit(struct polled_source *p)
{
	struct none *s = container_of(p, struct none, poll);

	ebpf_errors_deinit(&s->errors);
	polled_source_deinit(p);
	free(s);
}

static const struct polled_source_ops none_ops = {
	.name = "linux.ebpf_counters",
	.group = "eBPF counters",
	.begin = none_begin,
	.step = none_step,
	.deinit = none_deinit,
};

static int none_create(struct ds_handle *h, const struct ds_env *env,
		       const Pb__DataSourceConfig *config, void **ret_instance)
{
	struct none *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	r = polled_source_init(&s->poll, &none_ops, h, env, 0);
	if (r < 0) {
		none_deinit(&s->poll);
		return r;
	}
	ebpf_errors_add(&s->errors, "all families",
			"this sonda-probes was built without clang or libbpf");
	*ret_instance = &s->poll;
	return 0;
}

static void none_clear(void *instance)
{
	struct none *s = container_of((struct polled_source *)instance, struct none, poll);

	ebpf_errors_mark_unwritten(&s->errors);
	polled_source_clear(instance);
}

const struct data_source ebpf_counters_data_source = {
	.name = "linux.ebpf_counters",
	.handles_incremental_state_clear = true,
	.create = none_create,
	.start = polled_source_start,
	.flush = polled_source_flush,
	.clear = none_clear,
	.stop = polled_source_stop,
	.destroy = polled_source_destroy,
};
