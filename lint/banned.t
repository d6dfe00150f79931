#!/usr/bin/perl
# Functions we do not use, files and functions that grew too long, and marks of
# unfinished work.
use strict;
use warnings;
use Test::More;

my $top = $ENV{srcdir} // '.';
chdir $top or die "$top: $!";
my $banned = qr/\b(strcpy|strcat|sprintf|vsprintf|gets|atoi|atol|strtok|alloca|mktemp|tmpnam|system|popen|usleep|sleep|nanosleep|rand|srand)\s*\(/;
my $marks = qr/\b(TODO|FIXME|XXX|HACK)\b/;
for my $file (glob '*/*.[ch] t/*/*.[ch]') {
	my $test = $file =~ m{^(t|bench|site)/};
	my (@calls, @left, @long, $start, $name);
	open my $fh, '<', $file or die "$file: $!";
	my $comment = 0;
	while (<$fh>) {
		push @left, $. if /$marks/;
		my $code = s{//.*|/\*.*?\*/|"(?:\\.|[^"\\])*"}{}gr;
		$comment = 1 if $code =~ s{/\*.*}{};
		if ($comment) {
			$comment = 0 if m{\*/};
			next;
		}
		push @calls, "$1 line $." if $code =~ $banned
		    && !($test && $1 =~ /^(popen|system)$/);
		$name = $1 if /^(\w+)\(/;
		$start = $. if /^\{/;
		if (/^\}/ && defined $start) {
			push @long, "$name: " . ($. - $start)
			    if $. - $start > 100;
			undef $start;
		}
	}
	my $lines = $.;
	is_deeply(\@calls, [], "$file calls no banned function");
	is_deeply(\@left, [], "$file is finished");
	next if $test;
	is_deeply(\@long, [], "$file: no function above 100 lines");
	cmp_ok($lines, '<=', 500, "$file: at most 500 lines");
}
done_testing();
