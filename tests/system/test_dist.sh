#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# make dist: a tarball of the committed files, the same bytes each time.
. "$(dirname "$0")/../lib.sh"
git rev-parse HEAD >"$TMP/log" 2>&1 || { echo "these sources are not in git" >&2; exit 77; }

tools/dist.sh "$TMP/one" >"$TMP/name" 2>"$TMP/log" && (sleep 1; tools/dist.sh "$TMP/two") >>"$TMP/log" 2>&1
verdict "tarballs are made" $? "$TMP/log"
cmp "$TMP"/one/dist/*.tar.gz "$TMP"/two/dist/*.tar.gz >"$TMP/log" 2>&1
verdict "  both are the same" $? "$TMP/log"
grep -q "/sonda-$("$SONDA" version | cut -d ' ' -f 2).tar.gz$" "$TMP/name"
verdict "  their name has the version of the programs" $? "$TMP/name"
(cd "$TMP/one/dist" && sha256sum --check --quiet SHA256SUMS) >"$TMP/log" 2>&1
verdict "  the checksum is theirs" $? "$TMP/log"
tar -tf "$TMP"/one/dist/*.tar.gz | grep -v '/$' | cut -d/ -f2- | LC_ALL=C sort >"$TMP/files"
git ls-tree -r --name-only -z HEAD | tr '\0' '\n' | LC_ALL=C sort | diff - "$TMP/files" >"$TMP/log"
verdict "  they have the committed files and no others" $? "$TMP/log"
exit $BAD
