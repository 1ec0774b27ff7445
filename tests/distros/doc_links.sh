#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: tests/distros/doc_links.sh DIR
#
# The installed docs of DIR (share/doc/sonda): each link leads to a file, and each sample that a command names is there.
# Prints those that do not; fails if there is one, or no link at all.
set -u
cd "$1" || exit 1
links=0 broken=0
while IFS=: read -r page target; do
  case $target in http* | '') continue ;; esac
  links=$((links + 1))
  (cd "$(dirname "$page")" && [ -e "$target" ]) || { echo "$page: $target"; broken=$((broken + 1)); }
done < <(grep -roE '\]\([^)#]*' --include='*.md' . | sed 's/](//'
  grep -roE '(^| )-c [^ ]*/[^ ]*\.cfg' --include='*.md' . | sed 's/: *-c /:/')
echo "$links links, $broken broken"
[ $links != 0 ] && [ $broken = 0 ]
