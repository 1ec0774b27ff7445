/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The same events with other fields. */
#define CHANGED
#include "every_field.c"
