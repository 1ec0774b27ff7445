/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/text/number_table.h"
#include "gen/fields.h"
#include "procfs/sys/sys_file.h"
#include "procfs/sys/sys_source.h"

/*
 * /proc/pressure: a file for each resource with the lines "some" and "full". Their last word is the
 * total since boot, "total=MICROSECONDS". The pressure of interrupts (Linux 6.1, "full" only) has
 * no id and is a counter track.
 */

static const struct {
	const char *name;
	uint8_t some, full; /* enum PsiResource; 0: a counter track */
} resources[] = {{"cpu", 1, 2}, {"io", 3, 4}, {"memory", 5, 6}, {"irq", 0, 0}};

#define RESOURCES ARRAY_SIZE(resources)

struct sys_psi {
	struct sys_state base;
	struct sys_file files[RESOURCES];
	struct sys_errors errors[RESOURCES];
	uint32_t irq_full; /* extra counter of interrupts */
	unsigned n; /* number of resources; many kernels lack that of interrupts */
	unsigned next; /* next resource of this pass */
};

/* Finds the total of the line, in ns, saturated. Returns 0 or -EBADMSG. */
static int parse_total(struct span line, uint64_t *ret_ns)
{
	struct span word;
	uint64_t us;

	while (span_next_word(&line, &word)) {
		if (!number_table_cut_prefix(&word, "total="))
			continue;
		if (!number_table_u64(&word, &us))
			return -EBADMSG;
		*ret_ns = us > UINT64_MAX / 1000 ? UINT64_MAX : us * 1000;
		return 0;
	}
	return -EBADMSG;
}

static int sys_pressure_parse_line(const struct sys_psi *s, struct sys_packet *p, struct span line,
				   bool *known)
{
	bool some = number_table_cut_prefix(&line, "some ");
	uint8_t resource = some ? resources[s->next].some : resources[s->next].full;
	uint64_t ns;
	int r;

	/* Skip a line that a newer kernel may have. */
	if (!some && !number_table_cut_prefix(&line, "full "))
		return 0;
	*known = true;
	r = parse_total(line, &ns);
	if (r < 0)
		return r;
	if (resource)
		sys_put_pair(sys_packet_open(p), PB_SYS_STATS_PSI, resource, ns);
	else if (!some)
		extra_counters_set(&p->extras, s->irq_full, sys_clamp_i64(ns));
	return 0;
}

static int psi_parse(void *state, struct sys_packet *p, struct span text)
{
	struct span line;
	bool known = false;
	int r = 0;

	while (number_table_line(&text, &line)) {
		int bad = sys_pressure_parse_line(state, p, line, &known);

		r = bad ? bad : r;
	}
	return !known || text.len > 0 ? -EBADMSG : r;
}

static void psi_close(void *state, struct sys_packet *p)
{
	struct sys_psi *s = state;

	for (size_t i = 0; i < RESOURCES; i++)
		sys_file_deinit(&s->files[i], p);
}

static int psi_open(void *state, struct sys_packet *p, const Pb__SysStatsConfig *c)
{
	struct sys_psi *s = state;

	for (size_t i = 0; i < RESOURCES; i++) {
		s->errors[i].what = "psi";
		if (sys_file_init(&s->files[i], true, p->proc_root, "pressure/%s",
				  resources[i].name) < 0)
			return -ENOMEM;
	}
	s->irq_full = extra_counters_find_or_add(
		&p->extras, extra_counters_add_group(&p->extras, "psi"),
		(struct span){"psi.irq.full", 12},
		&(struct track_spec){.unit = TRACK_UNIT_NS, .total = true});
	s->n = access(s->files[RESOURCES - 1].path, F_OK) == 0 ? RESOURCES : RESOURCES - 1;
	return 0;
}

static bool psi_step(void *state, struct sys_packet *p)
{
	struct sys_psi *s = state;

	sys_file_poll(&s->files[s->next], p, &s->errors[s->next], psi_parse, s);
	s->next = (s->next + 1) % s->n;
	return s->next > 0;
}

const struct sys_source sys_psi = {
	.name = "psi",
	.period = offsetof(Pb__SysStatsConfig, psi_period_ms),
	.size = sizeof(struct sys_psi),
	.open = psi_open,
	.step = psi_step,
	.close = psi_close,
};
