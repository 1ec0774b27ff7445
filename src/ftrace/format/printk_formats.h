/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Strings in the kernel's read-only data by address: what a "char *" field of a record points to.
 * Source: printk_formats of tracefs, lines of the form 0xADDRESS : "TEXT" with C escapes. */
struct printk_format {
	uint64_t addr;
	uint32_t at; /* offset in text */
	uint32_t len;
};

struct printk_formats {
	struct printk_format *entries; /* owned, sorted by addr */
	size_t n;
	size_t cap;
	char *text; /* owned */
	size_t max_len; /* length of the longest string */
};

/* Parses the text of printk_formats (less than 4 GiB). Skips malformed lines. Returns 0 or
 * -ENOMEM. */
int printk_formats_parse(struct printk_formats *m, const char *printk_formats);
/* Parses the file root/printk_formats. The table is empty if the file cannot be read. Returns 0 or
 * -ENOMEM. */
int printk_formats_read(struct printk_formats *m, const char *tracefs_root);
void printk_formats_deinit(struct printk_formats *m);
/* Returns the entry, or NULL if the address is unknown. */
const struct printk_format *printk_formats_find(const struct printk_formats *m, uint64_t addr);
