/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Strings of the kernel's read-only data by their address: what a "char *" field of a record points
 * to. Source: printk_formats of tracefs, lines of  0xADDRESS : "TEXT"  with C escapes.
 */
struct printk_format {
	uint64_t addr;
	uint32_t at; /* in text */
	uint32_t len;
};

struct printk_formats {
	struct printk_format *entries; /* owned, sorted by addr */
	size_t n;
	size_t cap;
	char *text; /* owned */
	size_t max_len; /* of the longest string */
};

/* Reads the text of printk_formats, shorter than 4 GiB; lines of another form are skipped. 0 or
 * -ENOMEM. */
int printk_formats_parse(struct printk_formats *m, const char *printk_formats);
/* The same from root/printk_formats; empty where that cannot be read. 0 or -ENOMEM. */
int printk_formats_read(struct printk_formats *m, const char *tracefs_root);
void printk_formats_deinit(struct printk_formats *m);
/* The entry, or NULL where nothing is known of the address. */
const struct printk_format *printk_formats_find(const struct printk_formats *m, uint64_t addr);
