# SPDX-License-Identifier: Apache-2.0
#
# Rows of help_rows.awk become lines of the table of completion.sh.

# The values that the text of an option lists, as "boot (default) or mono_raw"; "" if it begins otherwise.
function values_in(text,    list, n, i, values) {
	sub(/^.* by: /, "", text)
	gsub(/ \(default\)/, "", text)
	n = split(text, list, /, | or /)
	for (i = 1; i <= n && list[i] ~ /^[a-z_]+$/; i++)
		values = values " " list[i]
	return values
}
# What an argument is, by its name in the help; for a choice "=" and its values.
function kind_of(argument, option, text) {
	if (argument == "")
		return "-"
	if (option == "preset")
		return "presets"
	if (argument ~ /^(FILE|SCRIPT)/)
		return "files"
	if (argument ~ /^(DIR|DIR)/)
		return "directories"
	if (argument ~ /^EVENT/)
		return "events"
	if (argument ~ /^CATEGOR/)
		return "categories"
	if (argument ~ /^(FUNC|PROBE)/)
		return "functions"
	if (argument ~ /^WORD/)
		return "recordable"
	if (argument ~ /^SESSION/)
		return "sessions"
	if (argument ~ /^PID/)
		return "pids"
	if (option == "syscalls")
		return "syscalls"
	if (option == "by" && verb == "top")
		return "=" values_in(text)
	if (option == "by")
		return "keys"
	if (argument ~ /^(KEY|WHEN|CLOCK|ACTION)/)
		return "=" values_in(text)
	return "any"
}
function put_option(long, short, argument, text) {
	print verb "\t" long "\t" short "\t" kind_of(argument, long, text) "\t" text
}
# Several long options may share an argument: "--kprobe, --kretprobe FUNC".
function option(left, text,    argument, long, short, others, n, i) {
	long = short = "-"
	argument = left
	if (match(left, /--[a-z][-a-z0-9]*/)) {
		long = substr(left, RSTART + 2, RLENGTH - 2)
		argument = substr(left, RSTART + RLENGTH)
		while (match(argument, /^, --[a-z][-a-z0-9]*/)) {
			others[++n] = substr(argument, 5, RLENGTH - 4)
			argument = substr(argument, RLENGTH + 1)
		}
	} else {
		argument = substr(left, 3)
	}
	if (left ~ /^-[A-Za-z]/)
		short = substr(left, 2, 1)
	if (argument ~ /^\[=/) # the next word is not its value
		argument = ""
	gsub(/^[ =[]+/, "", argument)
	put_option(long, short, argument, text)
	for (i = 1; i <= n; i++)
		put_option(others[i], "-", argument, text)
}

BEGIN { FS = "\t"; words = "-" }
$1 == "U" {
	# The last word that is not an option says what stands without one.
	usage = $2
	gsub(/\[-[^]]*\]|\[OPTION\]\.\.\.|\[?-- .*$|-[a-z] [A-Z]+\|?/, "", usage)
	if (usage ~ /WORD|EVENT/ && verb !~ /^describe$/)
		words = "recordable"
	else if (usage ~ /WORD/)
		words = "describable"
	else if (usage ~ /SESSION/ || (usage ~ /NAME/ && verb ~ /^(stop|attach)$/))
		words = "sessions"
	else if (usage ~ /FILE/)
		words = "files"
}
# "-e (--event)" in a heading.
$1 == "H" && match($2, /-[a-z] \(--[a-z]+\)/) {
	at = substr($2, RSTART, RLENGTH)
	put_option(substr(at, 7, length(at) - 7), substr(at, 2, 1), "EVENT", "a word of what to record")
}
$1 == "R" && $2 ~ /^-/ { option($2, $3) }
# The words of a list, such as kinds.
$1 == "R" && $2 ~ /^[a-z][-a-z]*$/ && verb != "record" { print verb "\tword\t-\t" $2 "\t" $3 }
END { print verb "\twords\t-\t" words "\t-" }
