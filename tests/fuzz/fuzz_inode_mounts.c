/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "procfs/machine/inode_mounts.h"
#include "wire/pb_dec.h"
#include "wire/pb_mem.h"

/* The text of /proc/self/mountinfo; what comes out is a list of names, none longer than its
 * line. */

#define FIELD 2

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pb_field f;
	struct pb_dec d;
	struct pb_mem m;
	dev_t device = 0;
	unsigned n = 0;

	if (inode_mounts_device((const char *)data, size, 22, &device) && size < strlen("22 1 0:0"))
		abort();
	if (pb_mem_init(&m) < 0)
		return 0;
	inode_mounts_encode(&m.enc, FIELD, (const char *)data, size, makedev(254, 0));
	pb_dec_init(&d, m.buf, pb_mem_len(&m));
	while (pb_dec_next(&d, &f)) {
		if (f.id != FIELD || f.len > size)
			abort();
		n++;
	}
	if (!pb_dec_ok(&d) || n > INODE_MOUNTS_MAX)
		abort();
	pb_mem_deinit(&m);
	return 0;
}
