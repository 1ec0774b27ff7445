/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ebpf/engine/errors.h"
#include "ebpf/engine/family.h"
#include "unit/client/read_tracks.h"
#include "unit/ebpf/fake_bpf.h"

/* One family in a kernel that is not one (fake_bpf.h), of which the test gives the facts:
 * rig_start(), fill maps, rig_read() and see tracks, below "eBPF". rig_end() in the teardown. */
#define RIG_CPUS 4u

static struct {
	struct ebpf_run run;
	struct ebpf_features real, features;
	struct ebpf_errors errors;
	struct writer *writer;
	struct err_text why;
	bool no_btf, no_tracefs;
	const char *tracepoint; /* has so many arguments, or is not there (-ENOENT) */
	int args;
	const char *member; /* a field that no struct has */
} rig;

static inline int rig_count_args(void *ctx, const char *tracepoint)
{
	if (rig.no_btf)
		return -EOPNOTSUPP;
	if (rig.tracepoint && !strcmp(tracepoint, rig.tracepoint))
		return rig.args;
	return rig.real.count_args(ctx, tracepoint);
}

static inline bool rig_has_member(void *ctx, const char *type, const char *member)
{
	return !rig.no_btf && !(rig.member && !strcmp(member, rig.member)) &&
	       rig.real.has_member(ctx, type, member);
}

static inline int rig_find_field(void *ctx, const char *event, const char *field,
				 struct sonda_field *ret)
{
	return rig.no_tracefs ? -ENOENT : rig.real.find_field(ctx, event, field, ret);
}

static inline int rig_setup(void **state)
{
	fake_reset();
	fake_bpf_reset(RIG_CPUS);
	memset(&rig, 0, sizeof(rig));
	if (ebpf_features_new("/sys/kernel/tracing", &rig.real) < 0)
		return -1;
	rig.features = rig.real;
	rig.features.count_args = rig_count_args;
	rig.features.has_member = rig_has_member;
	rig.features.find_field = rig_find_field;
	rig.writer = writer_new(NULL, 1, WRITER_DROP);
	rig.run = (struct ebpf_run){.n_cpus = RIG_CPUS,
				    .top_n = 4,
				    .proc_root = "/proc",
				    .writer = rig.writer,
				    .errors = &rig.errors};
	if (tracks_new("test", rig.writer, &rig.run.tracks) < 0)
		return -1;
	rig.run.group = tracks_add(rig.run.tracks,
				   &(struct track_spec){.kind = TRACK_GROUP, .name = "eBPF"});
	return 0;
}

static inline int rig_end(void **state)
{
	if (rig.run.object)
		ebpf_run_stop(&rig.run);
	tracks_free(rig.run.tracks);
	writer_free(rig.writer);
	ebpf_errors_deinit(&rig.errors);
	ebpf_features_free(&rig.real);
	fake_reset();
	fake_bpf_reset(0);
	return 0;
}

/* libbpf looks for types of this kernel: without them there is nothing to test. */
static inline void rig_need_btf(void)
{
	if (rig.real.count_args(rig.real.ctx, "sched_switch") < 0)
		skip();
}

/* Formats of events are in tracefs, for root. */
static inline void rig_need_tracefs(void)
{
	if (!ebpf_has_field(&rig.real, "skb/kfree_skb", "skbaddr") ||
	    !ebpf_has_field(&rig.real, "oom/mark_victim", "pid"))
		skip();
}

static inline int rig_start_scope(const struct ebpf_family *f, const struct ebpf_scope *scope)
{
	rig_need_btf();
	rig.run.family = f;
	return ebpf_run_start(&rig.run, &rig.features, scope, &rig.why);
}

static inline int rig_try(const struct ebpf_family *f)
{
	return rig_start_scope(f, &(struct ebpf_scope){.own_pid = (uint32_t)getpid()});
}

static inline void rig_start(const struct ebpf_family *f)
{
	if (rig_try(f) != 0)
		fail_msg("%s: %s", f->name, rig.why.text);
}

/* For another start of a kernel that has seen nothing. */
static inline void rig_stop_and_forget(void)
{
	ebpf_run_stop(&rig.run);
	fake_bpf_reset(RIG_CPUS);
}

/* Of the packets of all reads so far. */
static inline int rig_read(void)
{
	int r = ebpf_run_read(&rig.run);

	tracks_end(rig.run.tracks);
	read_tracks();
	return r;
}
