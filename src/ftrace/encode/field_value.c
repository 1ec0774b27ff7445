/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/encode/field_value.h"

void encode_add_tid(struct encode_ctx *ctx, int32_t tid)
{
	tid_list_add(ctx->tids, tid);
}
