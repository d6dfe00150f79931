#!/usr/bin/perl
# Every header compiles alone.
use strict;
use warnings;
use Test::More;

my $top = $ENV{srcdir} // '.';
my @cc = split ' ', $ENV{CC} // 'cc';
my @flags = ('-std=c11', '-Wall', '-Wextra', '-Werror', '-Wno-unused-function',
    split(' ', $ENV{LINT_CPPFLAGS} // ''), "-I$top", '-I' . ($ENV{builddir} // '.'));
my @headers = map { s{^\Q$top\E/}{}r } glob "$top/*/*.h $top/t/*/*.h";
for my $header (@headers) {
	open my $pipe, '|-', @cc, @flags, '-x', 'c', '-fsyntax-only', '-'
	    or die "@cc: $!";
	print $pipe "#include \"$header\"\nint lint_unused;\n";
	ok(close $pipe, "$header compiles alone");
}
done_testing();
