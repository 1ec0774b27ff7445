/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/str.h"

struct pb_enc;

/*
 * The files of one power supply, /sys/class/power_supply/NAME. Each is one read of a driver, which
 * may ask the hardware for it: callers look at their turn after every one.
 *
 * Format: Documentation/ABI/testing/sysfs-class-power of the kernel; whole numbers in micro units.
 * What is written: protos/trace/power/battery_counters.proto.
 */

enum power_value {
	POWER_CHARGE,
	POWER_CAPACITY,
	POWER_CURRENT,
	POWER_CURRENT_AVG,
	POWER_ENERGY,
	POWER_VOLTAGE,
	POWER_POWER,
	POWER_VALUES
};

struct power_values {
	int64_t v[POWER_VALUES];
	unsigned has; /* bits by enum power_value */
};

/* The file's name, for messages. */
const char *power_value_file(enum power_value which);

/* dir: of the supply. text: a buffer to use again. 0, -ENOENT where the supply has no such value,
 * -EBADMSG for a text that is no number, or the driver's own error. */
int power_supply_read(const char *dir, enum power_value which, struct strbuf *text,
		      struct power_values *values);

/* Does it store energy (a battery, an uninterruptible supply), and is it there? One that does not
 * say whether it is there is there. 0 or -errno of its type. */
int power_supply_is_battery(const char *dir, struct strbuf *text, bool *ret_battery);

/* Adds the fields of BatteryCounters. name: NULL for none. */
void power_values_encode(struct pb_enc *e, const struct power_values *values, const char *name);
