/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "service/output/file_sink.h"

struct session;

/* The session as the owner of a file that it writes into. */
struct file_owner session_file_owner(struct session *s);
/* The clone of a session that writes into a file takes its own file. */
void session_take_file(struct session *s, struct file_sink *file);
