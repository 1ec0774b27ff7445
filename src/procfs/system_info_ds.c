/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/system_info_ds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "gen/fields.h"
#include "procfs/cpu_info.h"
#include "procfs/interrupt_info.h"

/* Of 8192 processors with 2 kB each, and of 2000 interrupts with 11 bytes a processor. */
#define FILE_MAX (32u << 20)

struct system_info {
	struct ds_handle *h; /* borrowed, as are the roots */
	const char *proc_root;
	const char *sys_root;
	struct writer *writer; /* owned */
	bool irq_names;
};

static int read_proc(const struct system_info *s, const char *name, struct strbuf *text)
{
	char path[512];
	int r = fs_join(path, sizeof(path), s->proc_root, name);

	if (r == 0)
		r = fs_read_file(path, FILE_MAX, text);
	if (r < 0)
		log_warn("linux.system_info: %s/%s: %s", s->proc_root, name, strerror(-r));
	return r;
}

static struct pb_enc *begin_packet(struct system_info *s)
{
	struct pb_enc *e = writer_begin(s->writer);

	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, clock_boot_ns());
	return e;
}

static void write_cpus(struct system_info *s)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};
	struct pb_enc *e;

	if (read_proc(s, "cpuinfo", &text) < 0)
		return;
	e = begin_packet(s);
	pb_enc_open(e, PB_TRACE_PACKET_CPU_INFO);
	cpu_info_encode(e, text.s, text.len, s->sys_root);
	pb_enc_close(e);
	writer_end(s->writer);
}

static void write_interrupts(struct system_info *s)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};
	struct pb_enc *e;

	if (read_proc(s, "interrupts", &text) < 0)
		return;
	e = begin_packet(s);
	pb_enc_open(e, PB_TRACE_PACKET_INTERRUPT_INFO);
	interrupt_info_encode(e, text.s, text.len);
	pb_enc_close(e);
	writer_end(s->writer);
}

static int system_info_create(struct ds_handle *h, const struct ds_env *env,
			      const Pb__DataSourceConfig *config, void **ret_instance)
{
	const Pb__SystemInfoConfig *c = config->system_info_config;
	struct system_info *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	*s = (struct system_info){
		.h = h,
		.proc_root = env->proc_root,
		.sys_root = env->sys_root,
		.writer = ds_writer_new(h),
		.irq_names = c && c->irq_names,
	};
	if (!s->writer) {
		free(s);
		return -ENOMEM;
	}
	*ret_instance = s;
	return 0;
}

static void system_info_start(void *instance)
{
	struct system_info *s = instance;

	write_cpus(s);
	if (s->irq_names)
		write_interrupts(s);
	ds_started(s->h);
}

static void system_info_flush(void *instance, uint64_t flush_id)
{
	struct system_info *s = instance;

	writer_flush(s->writer);
	ds_flushed(s->h, flush_id);
}

static void system_info_stop(void *instance)
{
	struct system_info *s = instance;

	writer_flush(s->writer);
	ds_stopped(s->h);
}

static void system_info_destroy(void *instance)
{
	struct system_info *s = instance;

	writer_free(s->writer);
	free(s);
}

const struct data_source system_info_data_source = {
	.name = "linux.system_info",
	.create = system_info_create,
	.start = system_info_start,
	.flush = system_info_flush,
	.stop = system_info_stop,
	.destroy = system_info_destroy,
};
