/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/utsname.h>

struct pb_enc;

/* How this machine identifies itself to a service on another machine: by the kernel's boot id,
 * which the service combines with the address, and by a name, which is PERFETTO_MACHINE_NAME of the
 * environment, else uname(2)'s sysname, as in Perfetto's relay. */
struct machine_identity {
	char hint[64];
	size_t hint_len; /* 0: only the address identifies the machine */
	const char *name; /* borrowed from the environment or from system; NULL: none */
	struct utsname system;
};

/* Reads both. ret must not be moved afterwards. */
void machine_identity_read(struct machine_identity *ret);
/* Writes an IPCFrame with SetPeerIdentity: the machine, and a process of it. */
void machine_identity_put(struct pb_enc *e, const struct machine_identity *m, int32_t pid,
			  int32_t uid);
