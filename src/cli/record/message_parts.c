/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/message_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void *message_add_submessage(size_t *n, void *list, const ProtobufCMessageDescriptor *type)
{
	ProtobufCMessage ***messages = list, **longer;
	ProtobufCMessage *m = malloc(type->sizeof_message);

	longer = m ? realloc(*messages, (*n + 1) * sizeof(*longer)) : NULL;
	if (!longer) {
		free(m);
		return NULL;
	}
	type->message_init(m);
	*messages = longer;
	longer[(*n)++] = m;
	return m;
}

int message_set_string(char **field, const char *s)
{
	*field = strdup(s);
	return *field ? 0 : -ENOMEM;
}

int message_add_string(size_t *n, char ***list, const char *s)
{
	char **longer = realloc(*list, (*n + 1) * sizeof(*longer));

	if (!longer)
		return -ENOMEM;
	*list = longer;
	if (message_set_string(&longer[*n], s))
		return -ENOMEM;
	++*n;
	return 0;
}
