/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/text/str.h"

/*
 * What the kernel says of the boot that a persistent instance's records are of (last_boot_info). It
 * says where code was, not which: that it was the same kernel, with events of the same numbers, is
 * not written anywhere.
 *
 *	ffffffff81000000	[kernel]	since 6.15: what was loaded, and where
 *	ffffffffc0400000	virtio_blk
 *
 *	0	[kernel]			nothing is of another boot
 *	# Current				what is there was recorded since this one
 *	text delta:	1000000			6.12 to 6.14: only how far it has moved
 */
enum last_boot {
	LAST_BOOT_UNTOLD, /* the kernel does not keep this instance, or does not say */
	LAST_BOOT_NONE,
	LAST_BOOT_CURRENT,
	LAST_BOOT_THERE,
};

/* NULL: there is no such file. */
enum last_boot last_boot_of(const char *info);
/* Adds the names, with commas between, of modules that were loaded then and are not now. modules:
 * the text of /proc/modules. */
void last_boot_gone_modules(const char *info, const char *modules, struct strbuf *ret);
