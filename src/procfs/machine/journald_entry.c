/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/machine/journald_entry.h"

#include <string.h>

#include "base/core/mem.h"
#include "gen/fields.h"
#include "base/text/span.h"
#include "wire/pb_enc.h"

static const struct {
	const char *name;
	uint32_t field;
	bool is_number;
} rows[] = {
	{"MESSAGE", PB_SYSTEMD_JOURNALD_EVENT_MESSAGE, false},
	{"PRIORITY", PB_SYSTEMD_JOURNALD_EVENT_PRIO, true},
	{"SYSLOG_IDENTIFIER", PB_SYSTEMD_JOURNALD_EVENT_TAG, false},
	{"TID", PB_SYSTEMD_JOURNALD_EVENT_TID, true},
	{"_COMM", PB_SYSTEMD_JOURNALD_EVENT_COMM, false},
	{"_EXE", PB_SYSTEMD_JOURNALD_EVENT_EXE, false},
	{"_GID", PB_SYSTEMD_JOURNALD_EVENT_GID, true},
	{"_HOSTNAME", PB_SYSTEMD_JOURNALD_EVENT_HOSTNAME, false},
	{"_PID", PB_SYSTEMD_JOURNALD_EVENT_PID, true},
	{"_TID", PB_SYSTEMD_JOURNALD_EVENT_TID, true},
	{"_SYSTEMD_UNIT", PB_SYSTEMD_JOURNALD_EVENT_SYSTEMD_UNIT, false},
	{"_TRANSPORT", PB_SYSTEMD_JOURNALD_EVENT_TRANSPORT, false},
	{"_UID", PB_SYSTEMD_JOURNALD_EVENT_UID, true},
};

void journald_entry_add(struct journald_entry *entry, struct pb_enc *e, const void *data,
			size_t len)
{
	const char *text = data, *equals = len > 0 ? memchr(text, '=', len) : NULL;
	struct span name, value;
	uint32_t v;

	if (!equals)
		return;
	name = (struct span){text, (size_t)(equals - text)};
	value = (struct span){equals + 1, len - name.len - 1};
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!span_is(name, rows[i].name))
			continue;
		if (entry->has & 1u << rows[i].field)
			return;
		if (!rows[i].is_number)
			pb_enc_bytes(e, rows[i].field, value.p, MIN(value.len, JOURNALD_VALUE_MAX));
		else if (span_number(value, &v))
			pb_enc_u64(e, rows[i].field, v);
		else
			return;
		entry->has |= 1u << rows[i].field;
		return;
	}
}
