/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/machine/power_supply.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/system/fs.h"
#include "gen/fields.h"
#include "procfs/process/proc_status.h"
#include "base/text/span.h"
#include "wire/pb_enc.h"

/* A file of sysfs is a page at most. */
#define FILE_MAX 4096

static const struct {
	const char *file;
	const char *or_file; /* what some drivers have in its place */
	uint32_t field;
} rows[POWER_VALUES] = {
	[POWER_CHARGE] = {"charge_now", "charge_counter", PB_BATTERY_COUNTERS_CHARGE_COUNTER_UAH},
	[POWER_CAPACITY] = {"capacity", NULL, PB_BATTERY_COUNTERS_CAPACITY_PERCENT},
	[POWER_CURRENT] = {"current_now", NULL, PB_BATTERY_COUNTERS_CURRENT_UA},
	[POWER_CURRENT_AVG] = {"current_avg", NULL, PB_BATTERY_COUNTERS_CURRENT_AVG_UA},
	[POWER_ENERGY] = {"energy_now", NULL, PB_BATTERY_COUNTERS_ENERGY_COUNTER_UWH},
	[POWER_VOLTAGE] = {"voltage_now", NULL, PB_BATTERY_COUNTERS_VOLTAGE_UV},
	[POWER_POWER] = {"power_now", NULL, PB_BATTERY_COUNTERS_POWER_UW},
};

const char *power_value_file(enum power_value which)
{
	return rows[which].file;
}

static int read_text(const char *dir, const char *file, struct strbuf *text)
{
	char path[PATH_MAX];
	int r = fs_join(path, sizeof(path), dir, file);

	strbuf_clear(text);
	return r < 0 ? r : fs_read_file(path, FILE_MAX, text);
}

static int read_number(const char *dir, const char *file, struct strbuf *text, int64_t *ret_v)
{
	int r = read_text(dir, file, text);

	return r < 0 ? r : proc_number_parse(text->s, text->len, ret_v);
}

int power_supply_read(const char *dir, enum power_value which, struct strbuf *text,
		      struct power_values *values)
{
	int r = read_number(dir, rows[which].file, text, &values->v[which]);

	if (r == -ENOENT && rows[which].or_file)
		r = read_number(dir, rows[which].or_file, text, &values->v[which]);
	if (r == 0)
		values->has |= 1u << which;
	return r;
}

int power_supply_is_battery(const char *dir, struct strbuf *text, bool *ret_battery)
{
	struct span type, line;
	int64_t present = 1;
	int r = read_text(dir, "type", text);

	if (r < 0)
		return r;
	type = (struct span){text->s, text->len};
	if (!span_next_line(&type, &line))
		return -EBADMSG;
	line = span_trim(line);
	*ret_battery = span_is(line, "Battery") || span_is(line, "UPS");
	if (*ret_battery && read_number(dir, "present", text, &present) == 0)
		*ret_battery = present != 0;
	return 0;
}

static void put_float(struct pb_enc *e, uint32_t field, float v)
{
	uint32_t bits;

	_Static_assert(sizeof(bits) == sizeof(v), "a float of the format");
	memcpy(&bits, &v, sizeof(bits));
	pb_enc_fixed32(e, field, bits);
}

void power_values_encode(struct pb_enc *e, const struct power_values *values, const char *name)
{
	if (name)
		pb_enc_str(e, PB_BATTERY_COUNTERS_NAME, name);
	for (unsigned i = 0; i < POWER_VALUES; i++) {
		if (!(values->has & 1u << i))
			continue;
		if (i == POWER_CAPACITY)
			put_float(e, rows[i].field, (float)values->v[i]);
		else
			pb_enc_i64(e, rows[i].field, values->v[i]);
	}
}
