/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "wire/pb_enc.h"

/*
 * Who we are, for a service on another machine, which has only our word for it: an IPCFrame with
 * SetPeerIdentity. The machine is known by the kernel's boot id, and named by the environment's
 * PERFETTO_MACHINE_NAME, else by uname(2)'s sysname, as Perfetto's relay does.
 */
void identity_put_frame(struct pb_enc *e);
