/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/samples/perf_source.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "ebpf/engine/errors.h"
#include "stacks/samples/perf_session.h"

int perf_source_start_helpers(void)
{
	return file_reader_start();
}

/* ---- the end ---- */

static void report_remaining_losses(struct perf_session *s)
{
	for (unsigned i = 0; i < s->base.rings.n; i++) {
		uint64_t n = cpu_ring_count_unreported_lost(&s->base.rings.items[i]);

		if (n)
			perf_packets_write_lost(s, s->base.rings.items[i].cpu, n);
	}
}

static void perf_source_finish(struct stack_session *base)
{
	char count[STR_COUNT_SIZE];
	struct perf_session *s = (struct perf_session *)base;
	struct unwind_tables_stats stats;

	report_remaining_losses(s);
	if (s->tables.is_joined) {
		unwind_tables_get_stats(&stats);
		unwind_tables_write_stats(&stats, stack_session_begin_packet_now(base));
		writer_end(base->writer);
	}
	if (s->program || s->filter)
		ebpf_errors_write_missed("linux.perf",
					 s->program ? sample_program_count_missed(s->program)
						    : sample_filter_count_missed(s->filter),
					 base->writer);
	log_debug("linux.perf: %llu samples", (unsigned long long)s->n_written);
	if (s->n_lost)
		log_warn("linux.perf: the ring buffers were full and the kernel dropped %s; raise "
			 "ring_buffer_pages or lower the frequency",
			 str_count(s->n_lost, "record", count));
	if (s->n_throttled)
		log_warn("linux.perf: samples are missing: the kernel throttled sampling %s "
			 "(kernel.perf_event_max_sample_rate)",
			 str_count(s->n_throttled, "time", count));
}

static const struct stack_session_ops perf_source_ops = {
	.read = perf_records_read,
	.write = perf_packets_write_samples,
	.finish = perf_source_finish,
};

/* ---- set up ---- */

static void perf_destroy(void *instance)
{
	struct perf_session *s = instance;

	if (!s)
		return;
	unwind_preload_deinit(&s->preload);
	perf_events_close(s);
	stack_session_deinit(&s->base);
	free(s->samples);
	free(s->follower_counts);
	while (s->n_additional)
		free(s->additional[--s->n_additional]);
	free(s->additional);
	free(s->renamed);
	subject_ids_deinit(&s->ids);
	subject_deinit(&s->subject);
	if (s->config)
		pb__data_source_config__free_unpacked(s->config, NULL);
	free(s);
}

static void perf_source_destroyp(struct perf_session **s)
{
	perf_destroy(*s);
}

/* Copies the config, which is valid during create only. */
static int perf_source_copy_config(struct perf_session *s, const Pb__DataSourceConfig *config)
{
	size_t len = pb__data_source_config__get_packed_size(config);
	_cleanup_(freep) uint8_t *bytes = malloc(len + 1);

	if (!bytes)
		return -ENOMEM;
	pb__data_source_config__pack(config, bytes);
	s->config = pb__data_source_config__unpack(NULL, len, bytes);
	return s->config ? 0 : -ENOMEM;
}

static int perf_source_read_config(struct perf_session *s, const struct ds_env *env)
{
	static const Pb__PerfEventConfig none = PB__PERF_EVENT_CONFIG__INIT;
	const Pb__PerfEventConfig *m = s->config->perf_event_config;
	struct perf_config_env config_env = {env->tracefs_root, env->sys_root,
					     ds_consumer_is_root(s->base.h)};
	int r = perf_config_read(m ? m : &none, &config_env, &s->perf, &s->base.refused);

	if (r == 0)
		r = subject_find_ids(s->config->subject_config, env->sys_root, &s->ids,
				     &s->base.refused);
	s->ids.loop = env->loop;
	if (r == -EOPNOTSUPP) { /* a group of version 1 */
		s->by_proc = s->base.refused;
		*s->base.refused.text = '\0';
		r = perf_events_select_by_proc(s);
	}
	return r;
}

/* Reads the config and opens the rings. A refusal by the config or the kernel is written to the
 * trace, which then has no samples. */
static int read_config_and_open(struct perf_session *s, const struct ds_env *env)
{
	int r = perf_source_read_config(s, env);

	if (r == 0)
		r = perf_events_open(s);
	if (r == 0)
		return stack_resolver_join(&s->base.resolver, env->loop, env->proc_root,
					   s->perf.has_user_frames, s->perf.has_kernel_frames);
	if (*s->base.refused.text)
		log_warn("linux.perf: %s", s->base.refused.text);
	else
		(void)err_set(&s->base.refused, r, "perf_event_open");
	s->base.refusal = r;
	return r == -ENOMEM ? r : 0;
}

static int perf_create(struct ds_handle *h, const struct ds_env *env,
		       const Pb__DataSourceConfig *config, void **ret_instance)
{
	_cleanup_(perf_source_destroyp) struct perf_session *s = calloc(1, sizeof(*s));
	int r = s ? perf_source_copy_config(s, config) : -ENOMEM;

	if (r < 0)
		return r;
	r = stack_session_init(&s->base, h, env, "linux.perf", &perf_source_ops);
	if (r == 0)
		r = read_config_and_open(s, env);
	if (r < 0)
		return r;
	s->base.read_ms = s->perf.read_ms;
	*ret_instance = TAKE_PTR(s);
	return 0;
}

/* ---- start and stop ---- */

static void perf_source_begin(void *ctx)
{
	struct perf_session *s = ctx;
	int r = perf_events_enable(s, true);

	/* What the preload found may have changed before the events reported changes. */
	address_spaces_remove_all(&s->base.resolver.spaces);

	if (r < 0)
		log_warn("linux.perf: cannot enable all events: %s", strerror(-r));
	if (s->base.refusal || *s->by_frame_pointers.text)
		perf_packets_write_refusal(s);
	stack_session_start(&s->base);
}

static bool is_sampled_process(void *ctx, int32_t pid)
{
	struct perf_session *s = ctx;
	struct address_space *a = address_spaces_get(&s->base.resolver.spaces, pid);

	return a && perf_records_admit_process(s, a);
}

/* Programs sampled in addition to those of the scope are not known before their samples. */
static void perf_start(void *instance)
{
	struct perf_session *s = instance;

	s->preload = (struct unwind_preload){.proc_root = s->base.proc_root,
					     .is_wanted = is_sampled_process,
					     .done = perf_source_begin,
					     .ctx = s};
	if (s->base.refusal || !s->program || s->perf.n_additional ||
	    unwind_preload_begin(&s->preload, s->base.loop) < 0)
		perf_source_begin(s);
}

static void perf_stop(void *instance)
{
	struct perf_session *s = instance;

	unwind_preload_end(&s->preload);
	(void)perf_events_enable(s, false);
	stack_session_stop(&s->base);
}

const struct data_source perf_data_source = {
	.name = "linux.perf",
	.handles_incremental_state_clear = true,
	/* CAP_SYS_ADMIN: for kernels before 5.8, and to lower kptr_restrict; CAP_DAC_READ_SEARCH:
	 * the numbers of tracepoints. */
	.capabilities = 1ull << CAP_PERFMON | 1ull << CAP_SYSLOG | 1ull << CAP_SYS_ADMIN |
			1ull << CAP_DAC_READ_SEARCH | 1ull << CAP_SYS_NICE | 1ull << CAP_BPF,
	.is_timely = true,
	.create = perf_create,
	.start = perf_start,
	.flush = stack_session_flush,
	.clear = stack_session_clear,
	.stop = perf_stop,
	.destroy = perf_destroy,
};
