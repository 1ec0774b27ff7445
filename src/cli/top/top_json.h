/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/top/top_view.h"

/* Appends a screen as one line of JSON; s->live must not be NULL. Returns 0 or -ENOMEM. */
int top_view_json(const struct top_view *v, const struct top_state *s, struct strbuf *out);
