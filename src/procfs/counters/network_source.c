/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pass:
 *
 *	net/dev --> some lines, some lines ... --> net/snmp --> net/netstat --> net/snmp6
 *
 * Each arrow leads to a step. The values of a file have the time before it was read, unless a time
 * slice ended in between.
 */
#include "procfs/data_sources.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "procfs/counters/counter_files.h"
#include "procfs/counters/network_tables.h"

/* Lines of net/dev parsed in one step: a fraction of a millisecond. */
#define STEP_LINES 64

enum step { READ_DEV, PARSE_DEV, READ_SNMP, READ_NETSTAT, READ_SNMP6, PASS_OVER };

static const char *const default_counters[] = {
	"[rt]x bytes",
	"[rt]x packets",
	"[rt]x errs",
	"[rt]x drop",
	"Ip In*Errors",
	"Ip *Discards",
	"Ip OutNoRoutes",
	"Ip *Fails",
	"Tcp ActiveOpens",
	"Tcp PassiveOpens",
	"Tcp AttemptFails",
	"Tcp EstabResets",
	"Tcp CurrEstab",
	"Tcp *Segs",
	"Tcp InErrs",
	"Tcp InCsumErrors",
	"Tcp OutRsts",
	"Udp *",
	"Ip6 In*Errors",
	"Ip6 *Discards",
	"Ip6 *NoRoutes",
	"Ip6 *Fails",
	"Udp6 *",
	"TcpExt Listen*",
	"TcpExt *Drop",
	"TcpExt *Pruned",
	"TcpExt TCPTimeouts",
	"TcpExt TCPLostRetransmit",
	"TcpExt TCPFastRetrans",
	"TcpExt TCPSlowStartRetrans",
	"TcpExt TCPSynRetrans",
	"TcpExt TCPRetransFail",
	"TcpExt TCPSpuriousRTOs",
	"TcpExt TCPAbort*",
	"TcpExt TCPMemoryPressures",
	"TcpExt TCPRcvCoalesce",
	"TcpExt Syncookies*",
	NULL,
};

struct network_stats {
	struct polled_source poll;
	struct counter_patterns counters;
	struct network_links links;
	struct network_protocols protocols;
	int proc_fd; /* owned */
	struct counter_file dev, snmp, netstat, snmp6;
	bool dev_error_logged, snmp_error_logged, netstat_error_logged, snmp6_error_logged;
	enum step step;
	struct span lines; /* lines of net/dev that are not parsed yet */
	bool dev_is_whole;
	bool missing_logged;
};

/* ---- a pass ---- */

static void network_begin(struct polled_source *p)
{
	struct network_stats *s = container_of(p, struct network_stats, poll);

	s->step = s->proc_fd < 0 ? PASS_OVER : READ_DEV;
}

static void network_source_report_error(struct network_stats *s, bool *error_logged,
					const char *path, int r)
{
	if (r < 0)
		polled_source_failed(&s->poll, error_logged, path, -r);
}

static enum step read_dev(struct network_stats *s)
{
	int r = counter_file_read(&s->dev, &s->poll, s->proc_fd, "net/dev", false, &s->lines);
	int heading = s->lines.len > 0 ? network_links_begin(&s->links, &s->lines) : -EBADMSG;

	s->dev_is_whole = r == 0 && heading == 0;
	network_source_report_error(s, &s->dev_error_logged, "net/dev", r < 0 ? r : heading);
	return heading == 0 ? PARSE_DEV : READ_SNMP;
}

static enum step parse_dev(struct network_stats *s)
{
	struct span line;

	for (unsigned i = 0; i < STEP_LINES; i++) {
		if (!span_next_line(&s->lines, &line)) {
			/* In a truncated text a missing interface may still exist. */
			if (s->dev_is_whole)
				network_links_end(&s->links);
			return READ_SNMP;
		}
		if (network_links_parse_line(&s->links, line) < 0) {
			s->dev_is_whole = false;
			network_source_report_error(s, &s->dev_error_logged, "net/dev", -EBADMSG);
		}
	}
	return PARSE_DEV;
}

typedef int (*read_text_fn)(struct network_protocols *ps, struct span text);

static void read_protocols(struct network_stats *s, struct counter_file *f, const char *path,
			   read_text_fn fn, bool *error_logged)
{
	struct span text;
	int r;

	tracks_begin(s->poll.tracks, clock_boot_ns());
	r = counter_file_read(f, &s->poll, s->proc_fd, path, false, &text);
	if (text.len > 0 && fn(&s->protocols, text) < 0)
		r = -EBADMSG;
	/* A kernel without IPv6 has no snmp6, which is not an error. */
	if (r != -ENOENT || f != &s->snmp6)
		network_source_report_error(s, error_logged, path, r);
}

/* Logs selections without effect, once, after the first pass. */
static void log_unmatched_selections(struct network_stats *s)
{
	if (s->missing_logged || s->proc_fd < 0)
		return;
	s->missing_logged = true;
	counter_patterns_log_unmatched(&s->links.only, "linux.network_stats: interfaces");
	counter_patterns_log_unmatched(&s->counters, "linux.network_stats: counters");
}

static bool network_step(struct polled_source *p)
{
	struct network_stats *s = container_of(p, struct network_stats, poll);

	switch (s->step) {
	case READ_DEV:
		tracks_begin(p->tracks, clock_boot_ns());
		s->step = read_dev(s);
		return true;
	case PARSE_DEV:
		s->step = parse_dev(s);
		return true;
	case READ_SNMP:
		read_protocols(s, &s->snmp, "net/snmp", network_protocols_read,
			       &s->snmp_error_logged);
		s->step = READ_NETSTAT;
		return true;
	case READ_NETSTAT:
		read_protocols(s, &s->netstat, "net/netstat", network_protocols_read,
			       &s->netstat_error_logged);
		s->step = READ_SNMP6;
		return true;
	case READ_SNMP6:
		read_protocols(s, &s->snmp6, "net/snmp6", network_protocols_read_snmp6,
			       &s->snmp6_error_logged);
		s->step = PASS_OVER;
		return true;
	case PASS_OVER:
		log_unmatched_selections(s);
		break;
	}
	return false;
}

static void network_deinit(struct polled_source *p)
{
	struct network_stats *s = container_of(p, struct network_stats, poll);

	network_links_deinit(&s->links);
	network_protocols_deinit(&s->protocols);
	counter_patterns_deinit(&s->counters);
	counter_file_close(&s->dev, p);
	counter_file_close(&s->snmp, p);
	counter_file_close(&s->netstat, p);
	counter_file_close(&s->snmp6, p);
	closep(&s->proc_fd);
	polled_source_deinit(p);
	free(s);
}

static const struct polled_source_ops network_ops = {
	.name = "linux.network_stats",
	.group = "network",
	.begin = network_begin,
	.step = network_step,
	.deinit = network_deinit,
};

/* ---- the data source ---- */

static bool select_link_counter(void *ctx, const char *shown, struct track_spec *ret_spec)
{
	*ret_spec = (struct track_spec){
		.unit = str_ends(shown, " bytes") ? TRACK_UNIT_BYTES : TRACK_UNIT_COUNT,
		.total = true,
	};
	return counter_patterns_match(ctx, shown);
}

static uint32_t add_track_group(struct network_stats *s, const char *name)
{
	return tracks_add(
		s->poll.tracks,
		&(struct track_spec){.kind = TRACK_GROUP, .parent = s->poll.group, .name = name});
}

static int init_patterns(struct network_stats *s, const Pb__NetworkStatsConfig *c)
{
	int r = counter_patterns_init(&s->counters, "linux.network_stats: counters",
				      c ? c->counters : NULL, c ? c->n_counters : 0,
				      default_counters);

	if (r == 0 && c)
		r = counter_patterns_init(&s->links.only, "linux.network_stats: interfaces",
					  c->interfaces, c->n_interfaces, NULL);
	if (r == 0 && c)
		r = counter_patterns_init(&s->links.except,
					  "linux.network_stats: exclude_interfaces",
					  c->exclude_interfaces, c->n_exclude_interfaces, NULL);
	if (r == 0 && s->links.except.left_out)
		log_warn("linux.network_stats records no interfaces: exclude_interfaces is too "
			 "long");
	return r;
}

static int network_create(struct ds_handle *h, const struct ds_env *env,
			  const Pb__DataSourceConfig *config, void **ret_instance)
{
	const Pb__NetworkStatsConfig *c = config->network_stats_config;
	struct network_stats *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->dev.fd = s->snmp.fd = s->netstat.fd = s->snmp6.fd = s->proc_fd = -1;
	r = polled_source_init(&s->poll, &network_ops, h, env, c ? c->period_ms : 0);
	if (r == 0)
		r = init_patterns(s, c);
	if (r < 0) {
		network_deinit(&s->poll);
		return r;
	}
	network_links_init(&s->links, &s->poll, add_track_group(s, "interfaces"));
	s->links.keys = (struct counter_keys){.decide = select_link_counter, .ctx = &s->counters};
	s->protocols = (struct network_protocols){.poll = &s->poll,
						  .counters = &s->counters,
						  .group = add_track_group(s, "protocols")};
	s->proc_fd = open(env->proc_root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->proc_fd < 0)
		log_warn("linux.network_stats records nothing: %s: %s", env->proc_root,
			 strerror(errno));
	*ret_instance = &s->poll;
	return 0;
}

const struct data_source network_stats_data_source = {
	.name = "linux.network_stats",
	.capabilities = 1ull << CAP_DAC_READ_SEARCH | 1ull << CAP_NET_ADMIN | 1ull << CAP_SYS_NICE |
			1ull << CAP_SYS_PTRACE,
	.handles_incremental_state_clear = true,
	.create = network_create,
	.start = polled_source_start,
	.flush = polled_source_flush,
	.clear = polled_source_clear,
	.stop = polled_source_stop,
	.destroy = polled_source_destroy,
};
