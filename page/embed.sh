#!/bin/sh
# embed.sh NAME=FILE...: writes C source with each script as text that is
# already escaped for the inside of a JSON string. Of our own scripts, comment
# lines and indentation are left out; they therefore hold no template literal
# of several lines. NAME:=FILE takes a file as it is; an empty FILE gives an
# empty script.
set -e
LC_ALL=C
export LC_ALL

escape() {
	od -An -v -tu1 | awk '
	{
		for (i = 1; i <= NF; i++) {
			c = $i + 0
			if (c == 34 || c == 92)
				out("92," c)
			else if (c == 10)
				out("92,110")
			else if (c == 9)
				out("92,116")
			else if (c == 13)
				out("92,114")
			else if (c < 32)
				out("32")
			else
				out(c < 128 ? c : c - 256)
		}
	}
	function out(s)
	{
		printf "%s,%s", s, ++n % 16 == 0 ? "\n" : ""
	}'
}

echo '/* Made by page/embed.sh. */'
echo '#include "page/scripts.h"'
for arg in "$@"; do
	name=${arg%%=*}
	file=${arg#*=}
	strip='s/^[ 	]*//;/^\/\//d;/^$/d'
	case $name in
	*:) name=${name%:} strip= ;;
	esac
	echo "const char script_$name[] = {"
	test -z "$file" || sed "$strip" "$file" | escape
	echo '0 };'
	echo "const size_t script_${name}_len = sizeof(script_$name) - 1;"
done
